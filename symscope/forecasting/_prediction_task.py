"""Classification, regression, segmentation: how predictions are scored, how uncertain that is, and words."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float, Float64, Int64
from scipy.special import stdtrit
from torch import Tensor

from symscope.errors import InputError
from symscope.forecasting._task_wording import TaskWording
from symscope.numerics import explained, may_be_infinite

if TYPE_CHECKING:
    from symscope.forecasting._question import Question
    from symscope.forecasting._resample import Resample
    from symscope.forecasting._targets import Targets
    from symscope.networks import UserModel

CLOSE = 0.75  # share of the variation explained at one point: within half a standard deviation
Z_975 = 1.96


@final
@dataclass(frozen=True)
class PredictionTask:
    """Everything that differs between classification and regression, but for training.

    Attributes:
        kind: "classification", "regression", or "segmentation": a class at every position.
        words: Wording of the task.
        scores: `scores(prediction, resample, samples, elements)`: score of each point, 1 is perfect.
        correct: Which scores of single points count as correct.
        error: `error(prediction, resample, samples, elements)`: error of several points together.
        interval: `interval(class_accuracy, class_spread, per_class)`: 95 % interval of new resamples.
        check: Refuses a network whose outputs do not fit the question.
    """

    kind: str
    words: TaskWording
    scores: Callable[[Tensor, Resample, Tensor, Tensor], Tensor]
    correct: Callable[[Tensor], Tensor]
    error: Callable[[Tensor, Resample, Tensor, Tensor], float]
    interval: Callable[[Tensor, Tensor, int], tuple[float, float]]
    check: Callable[[Question, UserModel], None]

    @property
    def bounded(self) -> bool:
        """Whether scores are shares, between 0 and 1."""
        return self.kind != "regression"


def _class_scores(
    prediction: Float[Tensor, "p c"],
    resample: Resample,
    samples: Int64[Tensor, "p"],
    elements: Int64[Tensor, "p"],
) -> Float64[Tensor, "p"]:
    """1 where the largest output is that of the class, else 0."""
    return (prediction.argmax(1) == resample.positions.to(prediction.device)[samples]).double()


def _number_scores(
    prediction: Float[Tensor, "p t"],
    resample: Resample,
    samples: Int64[Tensor, "p"],
    elements: Int64[Tensor, "p"],
) -> Float64[Tensor, "p"]:
    """`1 - |f - y|^2 / V`, V the variance over the resample: 0 is as good as the mean, below 0 worse."""
    targets = resample.targets
    assert targets is not None
    wanted = targets.standard(targets.at(samples, elements)).to(prediction)
    return 1 - (prediction - wanted).double().square().sum(1) / targets.variance


@explained
def mean_overlap(
    outputs: Float[Tensor, "p t"], wanted: Float[Tensor, "p t"], classes: int
) -> Float64[Tensor, "p"]:
    """Intersection over union of a predicted mask with the true one, mean over classes that occur in either.

    Args:
        outputs: A number for each class and position, class after class; the largest one is predicted.
        wanted: Shares of the classes at each position; the largest is true.
        classes: Number of classes.

    >>> outputs, wanted = torch.eye(2).reshape(1, 4), torch.tensor([[1.0, 1.0, 0.0, 0.0]])
    >>> mean_overlap(outputs, wanted, 2).tolist()  # the first class 1 of 2 positions, the second 0 of 1
    [0.25]
    """
    labels = [one.unflatten(1, (classes, -1)).argmax(1) for one in (outputs, wanted.to(outputs.device))]
    total, there = outputs.new_zeros(len(outputs)).double(), outputs.new_zeros(len(outputs)).double()
    for c in range(classes):
        one, other = (label == c for label in labels)
        union = (one | other).sum(1).double()
        total += (one & other).sum(1) / union.clamp(min=1)
        there += union > 0
    return total / there


def _mask_scores(
    prediction: Float[Tensor, "p t"],
    resample: Resample,
    samples: Int64[Tensor, "p"],
    elements: Int64[Tensor, "p"],
) -> Float64[Tensor, "p"]:
    assert resample.targets is not None
    return mean_overlap(prediction, resample.targets.at(samples, elements), resample.targets.classes)


def _mask_error(
    prediction: Float[Tensor, "p t"],
    resample: Resample,
    samples: Int64[Tensor, "p"],
    elements: Int64[Tensor, "p"],
) -> float:
    """Mean of 1 minus the overlap."""
    return float((1 - _mask_scores(prediction, resample, samples, elements)).mean())


def _class_error(
    prediction: Float[Tensor, "p c"],
    resample: Resample,
    samples: Int64[Tensor, "p"],
    elements: Int64[Tensor, "p"],
) -> float:
    """Mean of `1 - f_true`."""
    own = prediction.gather(1, resample.positions[samples][:, None])[:, 0]
    return float((1 - own).mean())


def _number_error(
    prediction: Float[Tensor, "p t"],
    resample: Resample,
    samples: Int64[Tensor, "p"],
    elements: Int64[Tensor, "p"],
) -> float:
    """Root mean square of `|f - y|` in the numbers' own units; for maps of the error at a position."""
    assert resample.targets is not None
    apart = resample.targets.in_units(prediction.double()) - resample.targets.at(samples, elements)
    return resample.targets.typical_error(float(apart.square().sum(1).mean()))


def _check_classes(question: Question, model: UserModel) -> None:
    """Refuses class numbers the network has no output for."""
    classes = question.data.classes
    if min(classes) < 0 or max(classes) >= model.outputs:
        raise InputError(
            f"labels out of range: {model.name} has {model.outputs} outputs, so classes are 0 to "
            f"{model.outputs - 1}; the data has {min(classes)} to {max(classes)}. Renumber them, or give the "
            "network more outputs."
        )


def _check_numbers(question: Question, model: UserModel) -> None:
    """Refuses a network that does not return one output for each number."""
    if model.outputs != question.outputs:
        raise InputError(
            f"{model.name} has {model.outputs} outputs, the data has {question.outputs} numbers to predict "
            "for each sample; give the network one output for each. If these are classes, say so: "
            "task='classification' (--task classification)."
        )


def _check_masks(question: Question, model: UserModel) -> None:
    """Refuses a network that does not return a number for each class at each position."""
    if model.outputs != question.outputs:
        assert question.targets is not None
        classes, places = question.targets.classes, " x ".join(str(n) for n in question.target_shape[1:])
        raise InputError(
            f"{model.name} has {model.outputs} outputs, masks of {classes} classes at {places} positions "
            f"need {question.outputs}: a channel for each class, [n, {classes}, "
            f"{places.replace(' x ', ', ')}]. If the masks are numbers to predict, say so: "
            "task='regression' (--task regression)."
        )


@explained
def accuracy_interval(class_accuracy: Float[Tensor, "resamples c"], per_class: int) -> tuple[float, float]:
    """Where 95 % of the mean accuracies of new resamples should lie, within 0 and 1.

    `mean +- 1.96 s sqrt(1 + 1/resamples)`, where s is the spread over resamples, or the binomial one of so
    few samples, `sqrt(sum_c p_c (1 - p_c) / per_class) / classes`, if that is larger.

    Args:
        class_accuracy: Accuracy for each resample and class; NaN for classes that were not asked about.
        per_class: Samples of each class in a resample.

    >>> [round(end, 2) for end in accuracy_interval(torch.tensor([[0.5, 0.5], [0.5, 0.5]]), per_class=8)]
    [0.2, 0.8]
    """
    asked = class_accuracy[:, ~class_accuracy.isnan().any(0)]
    resamples, classes = asked.shape
    trials = resamples * per_class
    share = (asked.sum(0) * per_class + 1) / (trials + 2)  # never quite 0 or 1
    spread = float((share * (1 - share) / per_class).sum().sqrt()) / classes
    if resamples > 1:
        spread = max(spread, float(asked.mean(1).std()))
    mean, reach = float(asked.mean()), Z_975 * spread * math.sqrt(1 + 1 / resamples)
    return max(0.0, mean - reach), min(1.0, mean + reach)


@explained
@may_be_infinite
def explained_interval(
    explained: Float[Tensor, "resamples c"], spread: Float[Tensor, "resamples c"], per_group: int
) -> tuple[float, float]:
    """Where 95 % of the explained variations of new resamples should lie, at most 1.

    `mean +- t s sqrt(1 + 1/resamples)`. s is the spread of a resample's mean: between resamples, or what the
    scatter of samples within groups makes of it, `sqrt(sum_c v_c / per_group) / groups`, if that is larger. t
    is the 97.5 % quantile of Student's distribution with `groups + resamples - 2` degrees of freedom: the
    samples of a resample share their training data, so that a group counts as one observation, and a resample
    as another, not every sample.

    Args:
        explained: Explained variation for each resample and group; NaN for groups that were not asked about.
        spread: Standard deviation over the samples of a group of what is explained of each.
        per_group: Samples of each group in a resample.

    >>> scores = torch.tensor([[0.5, 0.4, 0.6], [0.5, 0.5, 0.5]])
    >>> [round(end, 2) for end in explained_interval(scores, torch.full((2, 3), 0.2), per_group=4)]
    [0.27, 0.73]
    """
    there = ~explained.isnan().any(0)
    asked, inside = explained[:, there], spread[:, there]
    resamples, groups = asked.shape
    if per_group > 1:
        variance = inside.square().mean(0) / per_group
    else:  # no scatter within groups: that of all samples, which includes that between groups
        variance = asked.var().expand(groups) if asked.numel() > 1 else asked.new_full((groups,), math.inf)
    size = float(variance.sum().sqrt()) / groups
    if resamples > 1:
        size = max(size, float(asked.mean(1).std()))
    # Student's t, as scipy.stats.t.ppf, which takes a second to load
    quantile = float(stdtrit(max(1, groups + resamples - 2), 0.975))
    reach = quantile * size * math.sqrt(1 + 1 / resamples)
    mean = float(asked.mean())
    return mean - reach, min(1.0, mean + reach)


CLASSIFICATION = PredictionTask(
    "classification",
    TaskWording(
        one="class",
        many="classes",
        score="accuracy",
        axis="held-out accuracy",
        does="reach a held-out accuracy of {share} on {what}",
        did="reaches {share}",
        forecast="Predicted accuracy on unseen transformations: {share}",
        error="error",
        works="classified correctly",
        pictures="Missing samples: a row that will be misclassified, with the class that is predicted, and a "
        "row that will be classified correctly",
        heading="Held-out accuracy on unseen transformations",
        scored="Held-out accuracy",
        goal="accuracy",
        key="accuracy",
    ),
    _class_scores,
    lambda scores: scores > 0.5,
    _class_error,
    lambda accuracy, spread, per_class: accuracy_interval(accuracy, per_class),
    _check_classes,
)

REGRESSION = PredictionTask(
    "regression",
    TaskWording(
        one="group",
        many="groups",
        score="explained",
        axis="variation explained",
        does="explain {share} of the targets' variation on {what}",
        did="explains {share}",
        forecast="Predicted share of the targets' variation explained on unseen transformations: {share}",
        error="error in own units",
        works="predicted within half a standard deviation",
        pictures="Missing samples, each with its prediction and its target: a row that will be more than "
        "half a standard deviation off, and a row that will be less",
        heading="Variation of the targets explained on unseen transformations",
        scored="Share of the targets' variation explained at missing inputs, 1 - |f - y|² / variance "
        "(below 0: worse than predicting the mean)",
        goal="share of the variation explained",
        key="explained",
    ),
    _number_scores,
    lambda scores: scores >= CLOSE,
    _number_error,
    explained_interval,
    _check_numbers,
)

SEGMENTATION = PredictionTask(
    "segmentation",
    TaskWording(
        one="group",
        many="groups",
        score="overlap",
        axis="mean overlap",
        does="reach a mean overlap (IoU) of {share} on {what}",
        did="reaches {share}",
        forecast="Predicted overlap (IoU) with the masks on unseen transformations: {share}",
        error="1 - overlap",
        works="predicted with an overlap of more than one half",
        pictures="Missing samples, each with the outline of its mask and of the predicted one: a row whose "
        "overlap will be below one half, and a row above",
        heading="Overlap (IoU) with the masks on unseen transformations",
        scored="Intersection over union of predicted and true masks at missing inputs, mean over classes",
        goal="overlap (IoU)",
        key="overlap",
    ),
    _mask_scores,
    lambda scores: scores > 0.5,
    _mask_error,
    lambda overlap, spread, per_group: _within(explained_interval(overlap, spread, per_group)),
    _check_masks,
)
TASKS = {one.kind: one for one in (CLASSIFICATION, REGRESSION, SEGMENTATION)}


def _within(ends: tuple[float, float]) -> tuple[float, float]:
    return max(0.0, ends[0]), min(1.0, ends[1])


def task_of(targets: Targets | None) -> PredictionTask:
    """The task of samples with classes, with numbers, or with masks."""
    if targets is None:
        return CLASSIFICATION
    return SEGMENTATION if targets.classes else REGRESSION


def group_means(
    values: Float[Tensor, "p"], positions: Int64[Tensor, "p"], count: int
) -> Float64[Tensor, "count"]:
    """The mean of the values at each of so many positions; NaN where there is none.

    >>> group_means(torch.tensor([1.0, 3.0, 5.0]), torch.tensor([0, 0, 2]), 3).tolist()
    [2.0, nan, 5.0]
    """
    return torch.stack([values[positions == c].double().mean() for c in range(count)])


def sample_spread(
    scores: Float[Tensor, "p"], samples: Int64[Tensor, "p"], positions: Int64[Tensor, "p"], count: int
) -> Float64[Tensor, "count"]:
    """The standard deviation over the samples of each class or group of their mean score; NaN below two.

    >>> scores, samples = torch.tensor([1.0, 0.0, 0.5, 0.5]), torch.tensor([0, 0, 1, 2])
    >>> sample_spread(scores, samples, torch.tensor([0, 0, 0, 1]), 2).tolist()
    [0.0, nan]
    """
    result = torch.full((count,), float("nan"), dtype=torch.float64)
    for c in range(count):
        own = samples[positions == c]
        means = [scores[(samples == sample) & (positions == c)].double().mean() for sample in own.unique()]
        if len(means) > 1:
            result[c] = torch.stack(means).std()
    return result
