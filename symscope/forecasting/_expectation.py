"""What kernel regression says about missing transformations: one Gram matrix in, scores out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from symscope.errors import InputError, SingularKernelError
from symscope.forecasting._question import Draw
from symscope.forecasting._task import group_means, item_spread
from symscope.groups import FiniteGroup
from symscope.spectral import (
    IrrepShare,
    LeaveOut,
    class_masks,
    leave_out,
    leave_out_residual,
    precision,
    projected_profile,
    unite_coinciding,
)

FALLBACK_RIDGE = 1e-6  # of the mean diagonal: where a kernel is singular over the points, and only there
DENSE_POINTS = 3000  # up to here every transformation is left out in turn, without assuming symmetry


@final
@dataclass(frozen=True, eq=False)
class Expectation:
    """What is expected of one draw of items.

    Where numbers are asked for, "class" is a group of items, and "accuracy" what is explained of the numbers'
    variation, `1 - mean |f - y|^2 / V`: 1 perfect, 0 as good as the mean of all items, below 0 worse.

    Attributes:
        accuracy: For each class, the share of missing points read right, in the exact group form.
        error: For each class, the mean of `1 - f_true` at missing points: 0 perfect, 1 nothing known. For
            numbers, the root mean square error in their own units.
        spread: For each class, the standard deviation of accuracy over items; NaN for one item.
        confusion: `[class, read as]`, shares of missing points; None for numbers.
        table: `[class, element]`, the same accuracy for each missing element without assuming that the
            kernel respects the group; NaN where it was not asked.
        prediction: What is said of each missing point: of every class, or standardised numbers.
        right: For each missing point, whether it is read right; for numbers, whether it is met within half a
            standard deviation.
        margin: For each missing point, the output of its class minus the largest other one; for numbers, what
            is explained of it alone.
        read_as: For each missing point, the position of the class it is taken for; None for numbers.
        seeds: The item of each missing point.
        elements: Its element.
        irreps: What holds missing points in place, irrep by irrep.
        departure: How far the kernel is from respecting the group, `|K - projected K| / |K|`.
        ridge: What was added to the diagonal.
        notes: What was special, in words.
    """

    accuracy: Float[Tensor, "c"]
    error: Float[Tensor, "c"]
    spread: Float[Tensor, "c"]
    confusion: Float[Tensor, "c c"] | None
    table: Float[Tensor, "c n"]
    prediction: Float[Tensor, "p t"]
    right: Bool[Tensor, "p"]
    margin: Float[Tensor, "p"]
    read_as: Int64[Tensor, "p"] | None
    seeds: Int64[Tensor, "p"]
    elements: Int64[Tensor, "p"]
    irreps: tuple[IrrepShare, ...]
    departure: float
    ridge: float
    notes: tuple[str, ...]


Missing = Mapping[int, Sequence[int]] | None


def expectation(
    gram: Float[Tensor, "p p"], draw: Draw, group: FiniteGroup, missing: Missing = None, ridge: float = 0.0
) -> Expectation:
    """Leave transformations out and read them from everything else, by regression with a kernel.

    The group form of `spectral.leave_out` on the group-projected kernel; one-hot labels, the largest output
    wins; or standardised numbers. A kernel that is singular over the points gets a ridge of 1e-6 of its mean
    diagonal, and a note.

    Args:
        gram: The kernel over all points, orbit after orbit.
        draw: The items and their classes or numbers.
        group: What acts.
        missing: Elements missing of classes, all at once; None leaves out the identity of each class in turn.
        ridge: Absolute, added to the diagonal.

    Raises:
        InputError: Missing elements or classes that are not there, a negative ridge, or a matrix that is no
            kernel.
    """
    masks = missing_masks(draw.labels, group, missing, draw.task.words.one)
    projection = projected_profile(gram, group)
    if draw.stabilisers is not None:  # a kernel of pairs loses half its digits where points coincide
        unite_coinciding(projection.profile, _kept(draw.stabilisers, group), group)
    notes: list[str] = []
    used = ridge
    try:
        found = leave_out(projection.profile, draw.outputs, masks, group, used, stabilisers=draw.stabilisers)
    except SingularKernelError:
        used = FALLBACK_RIDGE * float(gram.diagonal().mean())
        notes.append(
            f"The kernel is singular over these {len(gram)} points (fewer weights than points, or points "
            f"the network cannot tell apart); a ridge of {FALLBACK_RIDGE:g} of its mean diagonal was added."
        )
        found = leave_out(projection.profile, draw.outputs, masks, group, used)
    if found.explanation:
        notes.append(found.explanation)
    table = _table(gram, draw, group, missing, used)
    return _summary(found, draw, table, projection.invariance_error, used, tuple(notes))


def _kept(stabilisers: Sequence[Int64[Tensor, "_"]], group: FiniteGroup) -> Bool[Tensor, "m n"]:
    kept = torch.zeros(len(stabilisers), group.order, dtype=torch.bool)
    for s, elements in enumerate(stabilisers):
        kept[s, elements] = True
    return kept


def missing_masks(
    labels: Int64[Tensor, "m"], group: FiniteGroup, missing: Missing, one: str = "class"
) -> Bool[Tensor, "sets m n"]:
    """The missing sets: each class without its identity in turn, or the cases a user names, all at once.

    Args:
        labels: The class of each item.
        group: What acts.
        missing: Elements missing of classes; None for the sweep.
        one: What to call a class in messages.

    Raises:
        InputError: A class or element that is not there, or a class that would never be seen.

    >>> from symscope.groups import cyclic
    >>> missing_masks(torch.tensor([3, 5]), cyclic(2), {5: [1]}).int().tolist()
    [[[0, 0], [0, 1]]]
    """
    if missing is None:
        return class_masks(labels, group, group.identity)
    if not missing:
        raise InputError(f"missing: expected at least one {one}, got none.")
    mask = torch.zeros(len(labels), group.order, dtype=torch.bool)
    present = labels.unique().tolist()
    for label, elements in missing.items():
        if label not in present:
            raise InputError(f"missing: {one} {label} is not in the data; it has {present}.")
        chosen = sorted(set(elements))
        if not chosen or chosen[0] < 0 or chosen[-1] >= group.order:
            raise InputError(
                f"missing: expected elements of {group.name}, 0 to {group.order - 1}, for {one} {label}; got "
                f"{list(elements)}."
            )
        if len(chosen) == group.order:
            raise InputError(
                f"missing: every transformation of {one} {label} is missing, so it cannot be learned at all; "
                "leave one in."
            )
        rows = (labels == label).nonzero()[:, 0].cpu()
        mask[rows[:, None], torch.tensor(chosen)] = True
    return mask[None]


def dense_prediction(
    gram: Float[Tensor, "p p"], draw: Draw, mask: Bool[Tensor, "m n"], ridge: float
) -> Float[Tensor, "k c"]:
    """Predictions at the missing points of one set, by dense regression: for kernels without symmetry."""
    order = mask.shape[1]
    labels = draw.outputs.repeat_interleave(order, 0)
    at = mask.flatten().nonzero()[:, 0]
    return labels[at] - leave_out_residual(precision(gram, ridge), labels, at)


def _table(
    gram: Float[Tensor, "p p"], draw: Draw, group: FiniteGroup, missing: Missing, ridge: float
) -> Float[Tensor, "c n"]:
    table = gram.new_full((draw.classes, group.order), float("nan"))
    if len(gram) > DENSE_POINTS or draw.stabilisers is not None:
        return table
    labels = draw.outputs.repeat_interleave(group.order, 0)
    try:
        inverse = precision(gram, ridge)
    except InputError:  # points that coincide: the group form has treated them as one
        return table

    def scores(at: Int64[Tensor, "k"]) -> Float64[Tensor, "k"]:
        return draw.scores(labels[at] - leave_out_residual(inverse, labels, at), at // group.order)

    if missing is not None:
        at = missing_masks(draw.labels, group, missing, draw.task.words.one)[0].flatten().nonzero()[:, 0]
        cells = draw.positions[at // group.order] * group.order + at % group.order
        return group_means(scores(at), cells, table.numel()).reshape(table.shape)
    for c in range(draw.classes):
        rows = (draw.positions == c).nonzero()[:, 0] * group.order
        for g in group.elements:
            table[c, g] = scores(rows + g).mean()
    return table


def _summary(
    found: LeaveOut,
    draw: Draw,
    table: Float[Tensor, "c n"],
    departure: float,
    ridge: float,
    notes: tuple[str, ...],
) -> Expectation:
    scores = draw.scores(found.prediction, found.samples)
    truth, classes = draw.positions[found.samples], draw.classes
    error = torch.full((classes,), float("nan"), dtype=torch.float64)
    for c in truth.unique().tolist():
        here = truth == c
        error[c] = draw.task.error(found.prediction[here], draw, found.samples[here])
    confusion, margin, read_as = None, scores, None
    if draw.targets is None:
        confusion, margin, read_as = _readings(found.prediction, truth, classes)
    return Expectation(
        group_means(scores, truth, classes),
        error,
        item_spread(scores, found.samples, truth, classes),
        confusion,
        table,
        found.prediction,
        draw.task.right(scores),
        margin,
        read_as,
        found.samples,
        found.elements,
        found.irreps,
        departure,
        ridge,
        notes,
    )


def _readings(
    prediction: Float[Tensor, "p c"], truth: Int64[Tensor, "p"], classes: int
) -> tuple[Float64[Tensor, "c c"], Float[Tensor, "p"], Int64[Tensor, "p"]]:
    """Which classes are taken for which, by what margin, and what each point is taken for."""
    read_as = prediction.argmax(1)
    own = prediction.gather(1, truth[:, None])[:, 0]
    others = prediction.scatter(1, truth[:, None], float("-inf")).amax(1)
    confusion = torch.stack([group_means((read_as == b).double(), truth, classes) for b in range(classes)], 1)
    return confusion, own - others, read_as
