"""Kernel regression on the points that were seen, three ways: through the group, densely, in feature space.

All give `k(., T) (K_TT + ridge)^-1 y_T` at every point of the training samples and of new ones, T the points
that were seen. `orbit_predictions` takes the group-projected kernel and inverts it over ALL points, irrep by
irrep, P; with M the missing points and `r = (P_MM)^-1 (P y)_M` their residuals, `a = P (y - E_M r)` is zero
on M and `(K_TT + ridge)^-1 y_T` on T (the Woodbury identity read backwards), so that all coverages share one
factorisation. `dense_predictions` and `feature_predictions` take the kernel as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor

from symscope.errors import SingularKernelError
from symscope.numerics import Progress
from symscope.spectral._irrep_parts import irrep_values, point_values
from symscope.spectral._kernel_entries import OrbitPoints, entries
from symscope.spectral._leave_out_result import LeaveOut
from symscope.spectral._missing_sets import MissingSet
from symscope.spectral._orbit_inverse import OrbitInverse
from symscope.spectral._orbit_passes import character_columns, irrep_cells, tile_budget
from symscope.spectral._orbit_tiles import ProjectedKernel
from symscope.spectral.dense import cholesky_factor
from symscope.spectral.irrep_blocks import Quotient, frequencies

KernelFunction = Callable[[Tensor, Tensor], Tensor]


@final
@dataclass(frozen=True, eq=False)
class CoverageProblem:
    """What is asked, checked.

    Attributes:
        orbits: Every point of the training samples.
        new: Every point of new samples, maybe of none.
        points: Quotient that names the different points of the training samples.
        labels: One row per training sample, `e = 1`, or one for each of its points.
        seen: Masks of the points in the training data, equal where points coincide.
        ridge: Number added to the diagonal of K.
        budget: Bytes that may be used.
        dtype: Precision of projected kernels and their factors; None for that of the kernel's entries.
        progress: Called as `progress(what, done, total)`.
    """

    orbits: OrbitPoints
    new: OrbitPoints
    points: Quotient
    labels: Float[Tensor, "m e c"]
    seen: Bool[Tensor, "sets m n"]
    ridge: float
    budget: int
    dtype: torch.dtype | None
    progress: Progress | None

    @property
    def varying(self) -> bool:
        """Whether labels vary within orbits."""
        return self.labels.shape[1] > 1

    def labels_at(self, points: Int64[Tensor, "p"], labels: Float[Tensor, "m e c"]) -> Float[Tensor, "p c"]:
        """The labels of points that are numbered sample after sample, from labels on some device."""
        at, order = points.to(labels.device), self.orbits.group.order
        return labels[at // order, at % order if self.varying else 0]

    def report(self, what: str, done: int, total: int) -> None:
        """Say how far it is, to who wants to know."""
        if self.progress is not None:
            self.progress(what, done, total)


Predictions = tuple[Float[Tensor, "sets m n c"], Float[Tensor, "sets k n c"]]


def orbit_predictions(
    kernel: ProjectedKernel, asked: CoverageProblem, sets: Sequence[MissingSet | None]
) -> tuple[Predictions, LeaveOut | None, float]:
    """Regression with the group-projected kernel.

    Args:
        kernel: The kernel, made invariant.
        asked: The problem.
        sets: The missing points of each coverage; None where nothing is missing.

    Returns:
        The predictions, what leaving out gave (None where nothing was missing), and the invariance error.

    Raises:
        SingularKernelError: A block that is singular without being zero.
    """
    orbits, order = asked.orbits, asked.orbits.group.order
    m, c, count = len(orbits), asked.labels.shape[2], len(sets)
    inverse = OrbitInverse(
        kernel,
        orbits,
        asked.points,
        asked.ridge,
        asked.budget,
        progress=asked.progress,
        varying=asked.varying,
    )
    # what the weights reproduce at every point: labels where seen, predictions where missing
    fitted = asked.labels[:, :, None, :].expand(m, order, count, c).clone()
    missing = [one for one in sets if one is not None]
    left = inverse.left_out(asked.labels, missing) if missing else None
    if left is not None:
        which = torch.tensor([k for k, one in enumerate(sets) if one is not None])[left.sets]
        fitted[left.samples, left.elements, which] -= left.residual.to(fitted)
        fitted = on_coinciding(fitted, asked.points)
    prediction = fitted.to(orbits.samples.device)
    new = torch.zeros(len(asked.new), order, count, c, dtype=fitted.dtype, device=orbits.samples.device)
    if len(asked.new) or asked.ridge:
        weights = inverse.times(fitted.flatten(2), missing)
        prediction = prediction - asked.ridge * weights.unflatten(2, (count, c))
        if len(asked.new):
            # every different point counts once
            orders = asked.points.stabiliser_orders.to(weights.device)
            shared = weights / orders[:, None, None]
            varying = bool(missing) or asked.varying
            new = _new_predictions(kernel, asked, shared, varying).unflatten(2, (count, c))
    return (prediction.movedim(2, 0), new.movedim(2, 0)), left, inverse.norms.invariance_error


def on_coinciding(values: Float[Tensor, "m n *c"], points: Quotient) -> Float[Tensor, "m n *c"]:
    """Values at the first of coinciding points, given to all of them."""
    if points.is_free:
        return values
    samples = torch.arange(len(values))[:, None]
    return values[samples, points.representative]


def _new_predictions(
    kernel: ProjectedKernel, asked: CoverageProblem, weights: Float[Tensor, "m n c"], varying: bool
) -> Float[Tensor, "k n c"]:
    """`sum_t,h kappa_zt(g^-1 h) weights(t, h)`, tile by tile and irrep by irrep.

    Args:
        kernel: The kernel, made invariant.
        asked: The problem.
        weights: Numbers at every training point.
        varying: Whether the weights vary within orbits; otherwise the trivial irrep is enough.
    """
    orbits, new, group, device = asked.orbits, asked.new, kernel.group, weights.device
    batch = frequencies(group) if varying else frequencies(group)[:1]
    characters = torch.cat([character_columns(one) for one in batch], 1).to(device, weights.dtype)
    count, reps = weights.shape[2], len(kernel.representatives)
    room = tile_budget(asked.budget)
    entry = 8 * ((1 + 4 * reps) * group.order + 3 * characters.shape[1])
    side = max(1, min(512, int((room / entry / reps) ** 0.5)))
    rows = max(1, min(len(new), int(room / (entry * side))))
    sums: list[list[Tensor]] = [[] for _ in range(0, len(new), rows)]
    for start in range(0, len(orbits), side):
        columns = orbits.whole(slice(start, start + side))
        rights = [irrep_values(weights[start : start + side], one) for one in batch]
        for k, top in enumerate(range(0, len(new), rows)):
            tile = kernel.tile(new.at(slice(top, top + rows), kernel.representatives), columns)
            parts = [
                cells @ right
                for cells, right in zip(
                    irrep_cells(tile.to(weights.dtype) @ characters, batch), rights, strict=True
                )
            ]
            sums[k] = [a.add_(b) for a, b in zip(sums[k], parts, strict=True)] if sums[k] else parts
        asked.report("new samples", min(start + side, len(orbits)), len(orbits))
    result = torch.zeros(len(new), group.order, count, dtype=weights.dtype, device=device)
    for k, top in enumerate(range(0, len(new), rows)):
        for one, cells in zip(batch, sums[k], strict=True):
            result[top : top + rows] += point_values(cells, one, group.order)
    return result


def dense_predictions(kernel: KernelFunction, asked: CoverageProblem, number: int) -> Predictions:
    """Regression with the kernel as it is, by a factorisation over the seen points of one coverage.

    Args:
        kernel: `(x1 [a, *sample], x2 [b, *sample]) -> [a, b]`.
        asked: The problem.
        number: Which of the coverages.

    Raises:
        SingularKernelError: The kernel matrix of the seen points is singular.
    """
    flat, order = asked.orbits.samples.flatten(0, 1), asked.orbits.group.order
    seen, rest = _seen_and_missing(asked, number)
    chosen = flat[seen.to(flat.device)]
    side = max(1, min(4096, int((tile_budget(asked.budget) / 32) ** 0.5)))
    gram: Tensor | None = None
    for i, rows in enumerate(chosen.split(side)):
        for j, columns in enumerate(chosen.split(side)[: i + 1]):
            # one tensor twice on the diagonal: kernels are exact there
            tile = entries(kernel, rows, rows if i == j else columns)
            gram = tile.new_zeros(len(seen), len(seen)) if gram is None else gram
            gram[i * side :, j * side :][: len(rows), : len(columns)] = tile
            if i != j:
                gram[j * side :, i * side :][: len(columns), : len(rows)] = tile.T
        asked.report("kernel", min((i + 1) * side, len(seen)), len(seen))
    assert gram is not None
    gram.diagonal().add_(asked.ridge)  # in place: a matrix of all seen points and its factor are enough
    factor = cholesky_factor(gram, 0.0)
    del gram
    labels = asked.labels.to(factor)
    weights = torch.cholesky_solve(asked.labels_at(seen, labels), factor)
    del factor
    prediction = labels.expand(-1, order, -1).clone().flatten(0, 1)
    prediction[seen.to(prediction.device)] -= asked.ridge * weights
    rows = max(1, side * side // len(seen))
    at_once = _chunks(rest.to(flat.device), rows)
    for done, part in enumerate(at_once, start=1):
        prediction[part.to(prediction.device)] = entries(kernel, flat[part], chosen) @ weights
        asked.report("missing points", done, len(at_once))
    parts = _chunks(asked.new.samples.flatten(0, 1), rows)
    new = []
    for done, some in enumerate(parts, start=1):
        new.append(entries(kernel, some, chosen) @ weights)
        asked.report("new samples", done, len(parts))
    return _arranged(prediction, new, asked)


def feature_predictions(asked: CoverageProblem) -> Iterator[Predictions]:
    """Regression with the inner product of features, solved for one weight per feature and coverage.

    `w = (F_T^T F_T + ridge)^-1 F_T^T y_T`, which `F w` makes equal to the kernel's form, for features
    F fewer than points. The products of all points serve every coverage: those of the points that are
    missing are taken away again, or only those of the seen ones added up, whichever are fewer.

    Args:
        asked: The problem; its points are features.

    Raises:
        SingularKernelError: Features that are not independent on the seen points.
    """
    flat, order = asked.orbits.samples.flatten(0, 1), asked.orbits.group.order
    labels = asked.labels.to(flat.device, torch.float64)
    rows = max(1, int(tile_budget(asked.budget) / (8 * flat.shape[1])))
    new_rows = _chunks(asked.new.samples.flatten(0, 1), rows)

    def products(which: Int64[Tensor, "p"]) -> tuple[Tensor, Tensor]:
        square, right = _zeros(flat, flat.shape[1]), _zeros(flat, labels.shape[2])
        for part in which.to(flat.device).split(rows):
            some = flat[part].double()
            square.addmm_(some.T, some)
            right.addmm_(some.T, asked.labels_at(part, labels))
        return square, right

    distinct = (asked.points.representative == torch.arange(order)).flatten().nonzero()[:, 0]
    whole: tuple[Tensor, Tensor] | None = None
    for number in range(len(asked.seen)):
        seen, rest = _seen_and_missing(asked, number)
        if len(seen) <= len(rest):
            square, right = products(seen)
        else:
            whole = products(distinct) if whole is None else whole
            less = products(rest)
            square, right = whole[0] - less[0], whole[1] - less[1]
        try:
            factor = cholesky_factor(square, asked.ridge)
        except SingularKernelError as error:
            raise SingularKernelError(
                f"the {flat.shape[1]} features are not independent on the {len(seen)} seen points; use "
                "a ridge"
            ) from error
        weights = torch.cholesky_solve(right, factor)
        prediction = torch.cat([part.double() @ weights for part in flat.split(rows)])
        asked.report("coverages", number + 1, len(asked.seen))
        yield _arranged(prediction, [part.double() @ weights for part in new_rows], asked)


def _chunks(points: Shaped[Tensor, "p *rest"], rows: int) -> list[Shaped[Tensor, "_ *rest"]]:
    """Some rows at a time; none at all of nothing, which no kernel takes."""
    return list(points.split(rows)) if len(points) else []


def _zeros(like: Tensor, columns: int) -> Tensor:
    return torch.zeros(like.shape[1], columns, dtype=torch.float64, device=like.device)


def _seen_and_missing(asked: CoverageProblem, number: int) -> tuple[Int64[Tensor, "t"], Int64[Tensor, "u"]]:
    """Positions of the different points that were seen and of those that were not."""
    mask = asked.seen[number]
    distinct = asked.points.representative == torch.arange(mask.shape[1])
    return tuple((one & distinct).flatten().nonzero()[:, 0] for one in (mask, ~mask))  # type: ignore[return-value]


def _arranged(
    prediction: Float[Tensor, "p c"], new: Sequence[Float[Tensor, "_ c"]], asked: CoverageProblem
) -> Predictions:
    order, c = asked.orbits.group.order, prediction.shape[1]
    shaped = prediction.unflatten(0, (-1, order))
    fresh = torch.cat([*new, prediction.new_zeros(0, c)]).reshape(-1, order, c)
    return on_coinciding(shaped, asked.points)[None], fresh[None]
