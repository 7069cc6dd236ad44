"""What kernel regression predicts at missing transformations: one Gram matrix in, scores out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from symscope.errors import InputError, SingularKernelError
from symscope.forecasting._full_kernel import FullKernelPrediction
from symscope.forecasting._prediction_task import group_means, sample_spread
from symscope.forecasting._resample import Resample
from symscope.forecasting._short_repr import short_repr
from symscope.forecasting._trained_answer import class_scores
from symscope.groups import FiniteGroup
from symscope.numerics import explained
from symscope.spectral import (
    IrrepShare,
    LeaveOut,
    class_masks,
    leave_out,
    leave_out_residual,
    orbit_radii,
    orbit_separations,
    precision,
    projected_profile,
)

FALLBACK_RIDGE = 1e-6  # of the mean diagonal: where a kernel is singular over the points, and only there
MOST_PAIRS = 500  # pairs of classes; beyond, they are not solved one by one
DENSE_POINTS = 3000  # up to here every transformation is left out in turn, without assuming symmetry


@final
@dataclass(frozen=True, eq=False)
class ResamplePrediction:
    """What kernel regression predicts for one resample.

    For regression, "class" is a group of samples, and "accuracy" the share of the numbers' variation
    explained, `1 - mean |f - y|^2 / V`: 1 perfect, 0 as good as the mean of all samples, below 0 worse.

    Attributes:
        accuracy: Held-out accuracy of each class, in the exact group form.
        error: Mean of `1 - f_true` at the missing points of each class: 0 perfect, 1 nothing learned. For
            regression, the root mean square error in the numbers' own units.
        spread: Standard deviation of accuracy over the samples of each class; NaN for one sample.
        confusion: `[class, predicted class]`, shares of missing points; None for regression.
        table: `[class, element]`, accuracy for each missing element, without assuming that the kernel is
            invariant under the group; NaN where it was not asked for.
        prediction: Outputs at each missing point: one for every class, or standardised numbers.
        correct: Whether each missing point is classified correctly; for regression, whether it is predicted
            within half a standard deviation.
        margin: Output for the point's class minus the largest other one; for regression, the share explained
            of the point alone.
        predicted_class: Position of the class predicted for each missing point; None for regression.
        samples: Sample of each missing point.
        elements: Element of each missing point.
        irreps: Each irrep's share in what holds missing points in place.
        invariance_error: Relative distance of the kernel from an invariant one, `|K - projected K| / |K|`.
        ridge: Number that was added to the diagonal.
        notes: What was special, in words.
    """

    accuracy: Float[Tensor, "c"]
    error: Float[Tensor, "c"]
    spread: Float[Tensor, "c"]
    confusion: Float[Tensor, "c c"] | None
    table: Float[Tensor, "c n"]
    prediction: Float[Tensor, "p t"]
    correct: Bool[Tensor, "p"]
    margin: Float[Tensor, "p"]
    predicted_class: Int64[Tensor, "p"] | None
    samples: Int64[Tensor, "p"]
    elements: Int64[Tensor, "p"]
    irreps: tuple[IrrepShare, ...]
    invariance_error: float
    ridge: float
    notes: tuple[str, ...]

    __repr__ = short_repr


@final
@dataclass(frozen=True, eq=False)
class KernelPrediction:
    """What is predicted before training, from the architecture alone, by kernel regression.

    Attributes:
        kernel: Name of the kernel.
        kernel_reason: Why this kernel was chosen.
        class_accuracy: `[resamples, classes]`: held-out accuracy.
        class_spread: `[resamples, classes]`: its standard deviation over samples.
        class_error: Mean of `1 - f_true` at the missing points of each class, over resamples; for regression,
            the root mean square error in the numbers' own units.
        confusion: `[class, predicted class]`, mean over resamples; None for regression.
        table: `[class, element]`, mean over resamples; NaN where it was not asked for or not affordable.
        invariance_error: Relative distance of the kernel from one that is invariant under the group.
        pairs: Classes two by two.
        notes: What was special, in words.
        full: The same on all samples, or with a finite kernel as many as the time allows; None where those
            are no more.
        resample: First resample.
        resample_prediction: Prediction for the first resample.
    """

    kernel: str
    kernel_reason: str
    class_accuracy: Float[Tensor, "resamples c"]
    class_spread: Float[Tensor, "resamples c"]
    class_error: Float[Tensor, "c"]
    confusion: Float[Tensor, "c c"] | None
    table: Float[Tensor, "c n"]
    invariance_error: float
    pairs: ClassPairs
    notes: tuple[str, ...]
    resample: Resample = field(repr=False)
    resample_prediction: ResamplePrediction = field(repr=False)
    full: FullKernelPrediction | None = None

    def __repr__(self) -> str:
        return f"KernelPrediction({self.kernel}: {self.accuracy:.2f})"

    @property
    def accuracy(self) -> float:
        """Held-out accuracy, mean over classes."""
        return float(self.class_score.nanmean())

    @property
    def class_score(self) -> Float[Tensor, "c"]:
        """Held-out accuracy of each class: of all samples, new ones where there are some; else resamples."""
        if self.full is None:
            return self.class_accuracy.mean(0)
        return class_scores(self.full.headline)

    @property
    def about_new(self) -> bool:
        """Whether accuracies are those of new samples."""
        return self.full is not None and bool(self.full.new.count.any())

    @property
    def irreps(self) -> tuple[IrrepShare, ...]:
        """Each irrep's share in what holds missing points in place, for the first resample."""
        return self.resample_prediction.irreps

    @property
    def limiting_irreps(self) -> tuple[IrrepShare, ...]:
        """The irreps that limit generalisation, the one furthest below its fair share first."""
        limiting = [one for one in self.irreps if one.limits]
        return tuple(sorted(limiting, key=lambda one: one.share / one.weight))


@explained
def resample_prediction(
    gram: Float[Tensor, "p p"],
    resample: Resample,
    group: FiniteGroup,
    masks: Bool[Tensor, "sets m n"] | None = None,
    ridge: float = 0.0,
) -> ResamplePrediction:
    """Leave transformations out and predict them from everything else, by kernel regression.

    The group form of `spectral.leave_out` on the group-projected kernel; one-hot labels, the largest output
    wins; or standardised numbers. A kernel that is singular over the points gets a ridge of 1e-6 of its mean
    diagonal, and a note.

    Args:
        gram: Kernel over all points, orbit after orbit.
        resample: Samples and their classes or numbers.
        group: Group that acts.
        masks: Missing points of each set; None leaves out the identity of each class in turn.
        ridge: Absolute number added to the diagonal.

    Raises:
        InputError: A ridge below 0, or a matrix that is no kernel.
    """
    swept = masks is None
    if masks is None:
        masks = class_masks(resample.labels, group, group.identity)
    fixed = resample.stabilisers
    projection = projected_profile(gram, group, fixed)
    notes: list[str] = []
    try:
        result = leave_out(projection.profile, resample.outputs, masks, group, ridge, stabilisers=fixed)
    except SingularKernelError:
        ridge = FALLBACK_RIDGE * float(gram.diagonal().mean())
        notes.append(
            f"The kernel is singular over these {len(gram)} points (fewer weights than points, or points "
            f"the network cannot tell apart); a ridge of {FALLBACK_RIDGE:g} of its mean diagonal was added."
        )
        result = leave_out(projection.profile, resample.outputs, masks, group, ridge)
    if result.explanation:
        notes.append(result.explanation)
    scores = resample.scores(result.prediction, result.samples, result.elements)
    truth, classes = resample.positions[result.samples], resample.classes
    confusion, margin, predicted_class = None, scores, None
    if resample.targets is None:
        confusion, margin, predicted_class = _classification(result.prediction, truth, classes)
    return ResamplePrediction(
        group_means(scores, truth, classes),
        _class_errors(result, resample),
        sample_spread(scores, result.samples, truth, classes),
        confusion,
        _table(gram, resample, group, None if swept else masks[0], ridge),
        result.prediction,
        resample.task.correct(scores),
        margin,
        predicted_class,
        result.samples,
        result.elements,
        result.irreps,
        projection.invariance_error,
        ridge,
        tuple(notes),
    )


def dense_prediction(
    gram: Float[Tensor, "p p"], resample: Resample, mask: Bool[Tensor, "m n"], ridge: float
) -> Float[Tensor, "k c"]:
    """Predictions at the missing points of one set, by dense regression: for kernels without symmetry."""
    labels = resample.point_outputs
    at = mask.flatten().nonzero()[:, 0]
    return labels[at] - leave_out_residual(precision(gram, ridge), labels, at)


def _table(
    gram: Float[Tensor, "p p"],
    resample: Resample,
    group: FiniteGroup,
    missing: Bool[Tensor, "m n"] | None,
    ridge: float,
) -> Float[Tensor, "c n"]:
    table = gram.new_full((resample.classes, group.order), float("nan"))
    if len(gram) > DENSE_POINTS or resample.stabilisers is not None:
        return table
    labels = resample.point_outputs
    try:
        inverse = precision(gram, ridge)
    except InputError:  # points that coincide: the group form has treated them as one
        return table

    def scores(at: Int64[Tensor, "k"]) -> Float64[Tensor, "k"]:
        prediction = labels[at] - leave_out_residual(inverse, labels, at)
        return resample.scores(prediction, at // group.order, at % group.order)

    if missing is not None:
        at = missing.flatten().nonzero()[:, 0]
        cells = resample.positions[at // group.order] * group.order + at % group.order
        return group_means(scores(at), cells, table.numel()).reshape(table.shape)
    for c in range(resample.classes):
        rows = (resample.positions == c).nonzero()[:, 0] * group.order
        for g in group.elements:
            table[c, g] = scores(rows + g).mean()
    return table


def _class_errors(result: LeaveOut, resample: Resample) -> Float64[Tensor, "c"]:
    truth = resample.positions[result.samples]
    errors = torch.full((resample.classes,), float("nan"), dtype=torch.float64)
    for c in truth.unique().tolist():
        here = truth == c
        errors[c] = resample.task.error(
            result.prediction[here], resample, result.samples[here], result.elements[here]
        )
    return errors


def _classification(
    prediction: Float[Tensor, "p c"], truth: Int64[Tensor, "p"], classes: int
) -> tuple[Float64[Tensor, "c c"], Float[Tensor, "p"], Int64[Tensor, "p"]]:
    """The confusion matrix, the margin of each point, and the class predicted for it."""
    predicted_class = prediction.argmax(1)
    own = prediction.gather(1, truth[:, None])[:, 0]
    others = prediction.scatter(1, truth[:, None], float("-inf")).amax(1)
    confusion = torch.stack(
        [group_means((predicted_class == b).double(), truth, classes) for b in range(classes)], 1
    )
    return confusion, own - others, predicted_class


@final
@dataclass(frozen=True, eq=False)
class ClassPairs:
    """Errors, separations and densities of all classes, two by two.

    Attributes:
        error: `[a, b]`: mean of one minus label times prediction at the missing images of a, where only these
            two classes are learned, with labels +1 and -1; 0 perfect, above 1 wrong. NaN on the diagonal, and
            everywhere if there are too many pairs, no time, or for regression, where classes are groups.
        separation: `[a, b]`: mean over samples of the squared distance of their orbits' centres, over the
            mean squared norm of a point.
        density: One over the mean radius of each class's orbits, in units of the points' own norm: large
            where transformations move little.
    """

    error: Float[Tensor, "c c"]
    separation: Float[Tensor, "c c"]
    density: Float[Tensor, "c"]

    __repr__ = short_repr


@explained
def class_pairs(
    gram: Float[Tensor, "p p"], resample: Resample, group: FiniteGroup, ridge: float, solved: bool = True
) -> ClassPairs:
    """Errors, separations and densities of all classes, two by two.

    Args:
        gram: Kernel over all points, orbit after orbit.
        resample: Samples and their orbits.
        group: Group that acts.
        ridge: Absolute number added to the diagonal.
        solved: Whether errors are computed, which take time for many classes and large groups.
    """
    classes = resample.labels.unique()
    count = len(classes)
    members = [(resample.labels == label).nonzero()[:, 0] for label in classes]
    error = torch.full((count, count), float("nan"), dtype=torch.float64)
    if solved and resample.targets is None and count * (count - 1) // 2 <= MOST_PAIRS:
        profile = projected_profile(gram, group).profile
        for a in range(count):
            for b in range(a + 1, count):
                error[a, b], error[b, a] = _pair_error(
                    profile, members[a], members[b], resample, group, ridge
                )
    points = resample.points.double()
    norm = float(points.flatten(2).square().sum(2).mean()) or 1.0
    apart = orbit_separations(points.flatten(2)) / norm
    separation = torch.stack([torch.stack([apart[a][:, b].mean() for b in members]) for a in members])
    radii = orbit_radii(points.flatten(2)) / norm**0.5
    density = torch.stack([1 / radii[a].mean() for a in members])
    return ClassPairs(error, separation, density)


def _pair_error(
    profile: Float[Tensor, "m m n"],
    a: Tensor,
    b: Tensor,
    resample: Resample,
    group: FiniteGroup,
    ridge: float,
) -> tuple[float, float]:
    both = torch.cat([a, b])
    signs = torch.cat([torch.ones(len(a)), -torch.ones(len(b))]).to(profile)
    masks = class_masks((signs < 0).long(), group, group.identity)
    fixed = (
        None if resample.stabilisers is None or ridge else [resample.stabilisers[s] for s in both.tolist()]
    )
    try:
        result = leave_out(profile[both][:, both], signs, masks, group, ridge, stabilisers=fixed)
    except InputError:  # two classes alone can be singular where all together are not
        return float("nan"), float("nan")
    errors = 1 - result.label * result.prediction
    return float(errors[result.sets == 0].mean()), float(errors[result.sets == 1].mean())
