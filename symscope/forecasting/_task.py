"""What a network is asked for, classes or numbers: how answers are scored, learned and spoken of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from symscope.errors import InputError
from symscope.forecasting._interval import explained_interval, interval
from symscope.forecasting._logistic import logistic
from symscope.networks import Stack
from symscope.training import MiniBatch, StoredPoints, train_classifiers, train_regressors

if TYPE_CHECKING:
    from symscope.forecasting._question import Draw, Problem
    from symscope.networks import UserModel

HELD_STEPS, HELD_LOSS = 400, 0.01  # logistic regression ends at this mean cross-entropy, or so many steps
WORKS = 0.75  # of the variation, explained at one point: within half a standard deviation


@final
@dataclass(frozen=True)
class Words:
    """How a task is spoken of.

    Attributes:
        one: What a row of tables is.
        many: Several of them.
        score: What is 1 at best, in a word or two: the head of a column.
        axis: The same for an axis.
        does: What a network does with a share of something, "{share}" and "{what}" to be filled in.
        done: What is expected of missing transformations, "{share}" to be filled in.
        did: The same for a trained one, "{share}" to be filled in.
        unseen: What the standard sweep leaves out.
        error: The head of the column of errors.
        works: When a single point counts as right.
        pictures: What the pictures of missing cases show.
        heading: The terminal's table.
        scored: What the numbers of the large table are.
        goal: What `target` is.
        key: What programs call the score.
    """

    one: str
    many: str
    score: str
    axis: str
    does: str
    done: str
    did: str
    unseen: str
    error: str
    works: str
    pictures: str
    heading: str
    scored: str
    goal: str
    key: str


@final
@dataclass(frozen=True, eq=False)
class Fitted:
    """Networks trained on what is not missing.

    Attributes:
        stack: One for each missing set.
        losses: Mean over each epoch.
        missing: The score at missing points.
        seen: The score at all others.
    """

    stack: Stack
    losses: Float64[Tensor, "epochs copies"]
    missing: Float64[Tensor, "copies"]
    seen: Float64[Tensor, "copies"]


@final
@dataclass(frozen=True)
class Task:
    """Classification or regression: everything that differs between the two.

    Attributes:
        kind: "classification" or "regression".
        words: How it is spoken of.
        scores: `scores(prediction, draw, items)`: of each point, 1 is perfect; the mean is the score.
        right: Which scores of single points count as right.
        error: `error(prediction, draw, items)`: of several points together.
        interval: `interval(class_accuracy, class_spread, per_class)`: where new draws should lie.
        fitted: `fitted(builder, points, draw, hidden, settings, seeds, **where)`: training.
        held: `held(gram, draw, seen, start, ridge)`: at points that are not seen, what training from some
            outputs with the kernel held ends in.
        check: Refuses a network whose outputs are not what is asked for.
    """

    kind: str
    words: Words
    scores: Callable[[Tensor, Draw, Tensor], Tensor]
    right: Callable[[Tensor], Tensor]
    error: Callable[[Tensor, Draw, Tensor], float]
    interval: Callable[[Tensor, Tensor, int], tuple[float, float]]
    fitted: Callable[..., Fitted]
    held: Callable[[Tensor, Draw, Tensor, Tensor, float], Tensor]
    check: Callable[[Problem, UserModel], None]


def _class_scores(
    prediction: Float[Tensor, "p c"], draw: Draw, items: Int64[Tensor, "p"]
) -> Float64[Tensor, "p"]:
    """1 where the largest output is that of the class, else 0."""
    return (prediction.argmax(1) == draw.positions.to(prediction.device)[items]).double()


def _number_scores(
    prediction: Float[Tensor, "p t"], draw: Draw, items: Int64[Tensor, "p"]
) -> Float64[Tensor, "p"]:
    """`1 - |f - y|^2 / V`, V the variance over all drawn items: 0 is as good as their mean, below 0 worse."""
    assert draw.targets is not None
    wanted = draw.outputs.to(prediction.device)[items]
    return 1 - (prediction - wanted).double().square().sum(1) / draw.targets.variance


def _class_error(prediction: Float[Tensor, "p c"], draw: Draw, items: Int64[Tensor, "p"]) -> float:
    """Mean of `1 - f_true`."""
    own = prediction.gather(1, draw.positions[items][:, None])[:, 0]
    return float((1 - own).mean())


def _number_error(prediction: Float[Tensor, "p t"], draw: Draw, items: Int64[Tensor, "p"]) -> float:
    """Root mean square of `|f - y|` in the numbers' own units."""
    assert draw.targets is not None
    apart = draw.targets.in_units(prediction.double()) - draw.targets.values[items]
    return float(apart.square().sum(1).mean().sqrt())


def _class_fitted(
    builder: Callable[[int], Any],
    points: StoredPoints,
    draw: Draw,
    hidden: Bool[Tensor, "copies p"],
    settings: MiniBatch,
    seeds: Sequence[int],
    **where: Any,
) -> Fitted:
    labels = draw.labels.repeat_interleave(points.order)
    tests = {"missing": hidden, "seen": ~hidden}
    done = train_classifiers(builder, points, labels, ~hidden, tests, settings, seeds, **where)
    return Fitted(done.stack, done.losses, done.accuracies["missing"][-1], done.accuracies["seen"][-1])


def _number_fitted(
    builder: Callable[[int], Any],
    points: StoredPoints,
    draw: Draw,
    hidden: Bool[Tensor, "copies p"],
    settings: MiniBatch,
    seeds: Sequence[int],
    **where: Any,
) -> Fitted:
    assert draw.targets is not None
    numbers = draw.outputs.repeat_interleave(points.order, 0)
    tests = {"missing": hidden, "seen": ~hidden}
    done = train_regressors(builder, points, numbers, ~hidden, tests, settings, seeds, **where)
    unit = draw.targets.variance / numbers.shape[1]  # errors are means over outputs
    missing, seen = (1 - done.errors[name][-1] / unit for name in tests)
    return Fitted(done.stack, done.losses, missing, seen)


def _class_held(
    gram: Float[Tensor, "p p"],
    draw: Draw,
    seen: Bool[Tensor, "p"],
    start: Float[Tensor, "p c"],
    ridge: float,
) -> Float[Tensor, "k c"]:
    """Cross-entropy lowered until it is small; a ridge is not needed."""
    labels = draw.one_hot.repeat_interleave(len(gram) // len(draw.labels), 0)
    return logistic(gram, labels, seen, start, steps=HELD_STEPS, tolerance=HELD_LOSS).outputs


def _number_held(
    gram: Float[Tensor, "p p"],
    draw: Draw,
    seen: Bool[Tensor, "p"],
    start: Float[Tensor, "p t"],
    ridge: float,
) -> Float[Tensor, "k t"]:
    """Squared loss to its end: regression of what is left."""
    left = (draw.outputs.repeat_interleave(len(gram) // len(draw.labels), 0) - start)[seen]
    inner = gram[seen][:, seen] + ridge * torch.eye(int(seen.sum()), dtype=gram.dtype)
    return start[~seen] + gram[~seen][:, seen] @ torch.linalg.solve(inner, left)


def _check_classes(problem: Problem, model: UserModel) -> None:
    """Refuses class numbers the network has no output for."""
    classes = problem.data.classes
    if min(classes) < 0 or max(classes) >= model.outputs:
        raise InputError(
            f"labels out of range: {model.name} has {model.outputs} outputs, so classes are 0 to "
            f"{model.outputs - 1}; the data has {min(classes)} to {max(classes)}. Renumber them, or give the "
            "network more outputs."
        )


def _check_numbers(problem: Problem, model: UserModel) -> None:
    """Refuses a network that does not return one output for each number."""
    if model.outputs != problem.outputs:
        raise InputError(
            f"{model.name} has {model.outputs} outputs, the data has {problem.outputs} numbers to predict "
            "for each item; give the network one output for each. If these are classes, say so "
            "(LabelledData, or --task classification)."
        )


CLASSIFICATION = Task(
    "classification",
    Words(
        one="class",
        many="classes",
        score="read right",
        axis="missing ones read right",
        does="get right {share} of {what}",
        done="{share} of missing transformations are expected to be read right",
        did="gets {share}",
        unseen="the transformations of a class that it has not seen",
        error="error",
        works="read right",
        pictures="Missing images: a row that will be read wrong, with the class they are taken for, and a "
        "row that will be read right",
        heading="Missing transformations read right",
        scored="Share of missing images read right",
        goal="accuracy",
        key="accuracy",
    ),
    _class_scores,
    lambda scores: scores > 0.5,
    _class_error,
    lambda accuracy, spread, per_class: interval(accuracy, per_class),
    _class_fitted,
    _class_held,
    _check_classes,
)

REGRESSION = Task(
    "regression",
    Words(
        one="group",
        many="groups",
        score="explained",
        axis="variation explained",
        does="explain {share} of the targets' variation at {what}",
        done="{share} of the targets' variation is expected to be explained at missing transformations",
        did="explains {share}",
        unseen="transformations that it has not seen",
        error="error in own units",
        works="met within half a standard deviation",
        pictures="Missing images, each with what will be said of it and the target: a row that will be more "
        "than half a standard deviation off, and a row that will be less",
        heading="Variation of the targets explained at missing transformations",
        scored="Share of the targets' variation explained at missing inputs, 1 - |f - y|² / variance "
        "(below 0: worse than saying the mean)",
        goal="share of the variation explained",
        key="explained",
    ),
    _number_scores,
    lambda scores: scores >= WORKS,
    _number_error,
    explained_interval,
    _number_fitted,
    _number_held,
    _check_numbers,
)


def group_means(
    values: Float[Tensor, "p"], positions: Int64[Tensor, "p"], count: int
) -> Float64[Tensor, "count"]:
    """The mean of the values at each of so many positions; NaN where there is none.

    >>> group_means(torch.tensor([1.0, 3.0, 5.0]), torch.tensor([0, 0, 2]), 3).tolist()
    [2.0, nan, 5.0]
    """
    return torch.stack([values[positions == c].double().mean() for c in range(count)])


def item_spread(
    scores: Float[Tensor, "p"], items: Int64[Tensor, "p"], positions: Int64[Tensor, "p"], count: int
) -> Float64[Tensor, "count"]:
    """The standard deviation over the items of each class or group of their mean score; NaN below two items.

    >>> scores, items = torch.tensor([1.0, 0.0, 0.5, 0.5]), torch.tensor([0, 0, 1, 2])
    >>> item_spread(scores, items, torch.tensor([0, 0, 0, 1]), 2).tolist()
    [0.0, nan]
    """
    found = torch.full((count,), float("nan"), dtype=torch.float64)
    for c in range(count):
        own = items[positions == c]
        means = [scores[(items == item) & (positions == c)].double().mean() for item in own.unique()]
        if len(means) > 1:
            found[c] = torch.stack(means).std()
    return found
