"""Null spaces of long constraint matrices, row blocks at a time, and how many dimensions they have.

The rule. Columns and rows are scaled to size one. Singular values up to `FLOOR * K * eps` of the largest (K
columns) are zero to rounding. Their number is the dimension, provided the step down to them is significant:
were the spectrum to run on to zero without a null space, the steps of the logarithms of its values would look
like those above, taken as exponential; the chance that the largest of so many steps is as large as the one
seen must be below the level. Otherwise the small values cannot be told from the tail of the spectrum, and
the dimension is 0. Null vectors must also satisfy constraints that were not used to find them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError

FLOOR = 64.0
OVERSAMPLING = 1.25  # constraints for every unknown
SPARE = 32
ROUNDS = 12
HELD_OUT = 1e-8  # relative residual that fresh constraints may leave on a null vector


@final
@dataclass(frozen=True)
class NullSpace:
    """The null space of a constraint matrix C.

    Attributes:
        basis: Orthonormal columns v with C v = 0.
        singular_values: Of the scaled C, largest first, relative to the largest.
        floor: Values up to here are zero to rounding.
        gap: Smallest value above the floor over the floor (or over the largest value below, if larger).
        chance: That a spectrum without null space has such a step by accident; 1 where there is no step.
        level: Chance below which the step counts.
        rows: Constraints used.
        held_out: Largest relative residual on constraints that were not used, where there were some.
    """

    basis: Float[Tensor, "K d"]
    singular_values: Float[Tensor, "K"]
    floor: float
    gap: float
    chance: float
    level: float
    rows: int
    held_out: float | None

    @property
    def dimension(self) -> int:
        return self.basis.shape[1]


def null_space(blocks: Iterable[Float[Tensor, "_rows K"]], level: float = 1e-3) -> NullSpace:
    """The null space of the matrix whose rows come in blocks; never more than one block and a K x K matrix.

    Args:
        blocks: Rows; K or more in all.
        level: Error level of the gap's significance test (see the top of this file).

    Returns:
        Basis, singular values and the test.

    Raises:
        InputError: Fewer rows than columns, or numbers that are not finite.

    >>> rows = torch.tensor([[1.0, 2.0, 3.0], [2.0, -1.0, 0.5], [3.0, 1.0, 3.5], [0.0, 1.0, 1.1]]).double()
    >>> null_space([rows[:3], rows[3:]]).dimension
    0
    >>> null_space([rows @ torch.diag(torch.tensor([1.0, 1.0, 0.0])).double()]).dimension
    1
    """
    triangle: Tensor | None = None
    scale: Tensor | None = None
    rows = 0
    for block in blocks:
        scale = _column_sizes(block) if scale is None else scale
        triangle = _folded(triangle, block, scale)
        rows += block.shape[0]
    if triangle is None or scale is None or rows < triangle.shape[1]:
        needed = 0 if triangle is None else triangle.shape[1]
        raise InputError(f"expected at least {needed} constraints for as many unknowns, got {rows}")
    return _solved(triangle, scale, level, rows)


def settled_null_space(
    block: Callable[[int, int], Float[Tensor, "_rows K"]], unknowns: int, level: float = 1e-3
) -> NullSpace:
    """The null space of random constraints, as many as it takes: the last ones, not used, must hold too.

    Constraints without content do not count (points where all gradients vanish: dead ReLU units). Rounds of
    fresh constraints are added until one changes nothing.

    Args:
        block: `(count, round) -> constraints`; every round draws new ones.
        unknowns: K.
        level: Error level of the gap's significance test.

    Returns:
        The null space; `held_out` is its largest relative residual on the unused round.

    Raises:
        InputError: It does not settle, because nearly all constraints are empty.
    """
    count = max(int(OVERSAMPLING * unknowns) + SPARE, 2 * SPARE)
    triangle: Tensor | None = None
    scale: Tensor | None = None
    rows, found = 0, None
    for turn in range(ROUNDS):
        fresh = block(count, turn)
        fresh = fresh[fresh.square().sum(1) > 0]
        if found is not None and scale is not None and fresh.shape[0] >= SPARE:
            residual = _residual(fresh, found.basis, scale)
            if residual <= HELD_OUT:
                return replace(found, held_out=residual)
        if fresh.shape[0]:
            scale = _column_sizes(fresh) if scale is None else scale
            triangle = _folded(triangle, fresh, scale)
            rows += fresh.shape[0]
        if triangle is not None and scale is not None and rows >= OVERSAMPLING * unknowns:
            found = _solved(triangle, scale, level, rows)
    raise InputError(
        f"after {ROUNDS} rounds of {count} random points the constraints still change (only {rows} of them "
        "say anything): most gradients vanish; draw parameters or data with another scale"
    )


def _residual(rows: Float[Tensor, "r K"], basis: Float[Tensor, "K d"], scale: Float[Tensor, "K"]) -> float:
    """Largest cosine of a constraint and a null vector, columns scaled."""
    if basis.shape[1] == 0:
        return 0.0
    across, along = rows / scale, basis * scale[:, None]
    return float((across @ along / (across.norm(dim=1)[:, None] * along.norm(dim=0))).abs().max())


def _column_sizes(block: Float[Tensor, "r K"]) -> Float[Tensor, "K"]:
    """Root mean squares; a column that is zero to rounding counts as one of the largest's size."""
    sizes = block.square().mean(0).sqrt()
    largest = sizes.max()
    noise = FLOOR * torch.finfo(sizes.dtype).eps * largest
    return torch.where(sizes > noise, sizes, largest if largest > 0 else 1.0)


def _folded(
    triangle: Float[Tensor, "t K"] | None, block: Float[Tensor, "r K"], scale: Float[Tensor, "K"]
) -> Float[Tensor, "u K"]:
    """The triangle of all rows so far, these included, columns and rows scaled."""
    if not bool(torch.isfinite(block).all()):
        raise InputError("the constraints hold NaN or infinity; draw parameters and data smaller")
    scaled = block / scale
    sizes = scaled.norm(dim=1, keepdim=True)
    scaled = scaled / torch.where(sizes > 0, sizes, 1.0)
    return torch.linalg.qr(scaled if triangle is None else torch.cat([triangle, scaled]), mode="r").R


def _solved(triangle: Float[Tensor, "t K"], scale: Float[Tensor, "K"], level: float, rows: int) -> NullSpace:
    _, values, right = torch.linalg.svd(triangle)
    top = float(values[0])
    values = values / top if top > 0 else values
    floor = FLOOR * len(values) * torch.finfo(values.dtype).eps
    dimension, gap, chance = selected_dimension(values, floor, level)
    kept = right[len(values) - dimension :].T / scale[:, None]
    basis = torch.linalg.qr(kept).Q if dimension else kept
    return NullSpace(basis, values, floor, gap, chance, level, rows, None)


def selected_dimension(values: Float[Tensor, "K"], floor: float, level: float) -> tuple[int, float, float]:
    """How many of the last singular values are zero, how large the step down to them is, and its chance.

    `chance = 1 - (1 - exp(-log(gap) / s))^r`, r values above the floor, s the mean step of their logarithms.

    >>> selected_dimension(torch.tensor([1.0, 0.5, 0.3, 1e-15]), 1e-12, 1e-3)[0]
    1
    >>> selected_dimension(torch.tensor([1.0, 1e-4, 1e-8, 1e-13]), 1e-12, 1e-3)[0]
    0
    """
    above = values[values > floor]
    null = len(values) - len(above)
    if len(above) == 0:
        return null, math.inf, 0.0
    if null == 0:
        return 0, 1.0, 1.0
    gap = float(above[-1]) / floor
    # the spectrum's fall per step: one value alone says nothing of it, so take a factor of e
    step = math.log(float(above[0] / above[-1])) / (len(above) - 1) if len(above) > 1 else 1.0
    step = max(step, 1e-3)
    odds = math.exp(-math.log(gap) / step)
    chance = -math.expm1(len(above) * math.log1p(-odds)) if odds < 1 else 1.0
    return (null if chance <= level else 0), gap, chance


def echelon(basis: Float[Tensor, "K d"], tolerance: float = 1e-9) -> Float[Tensor, "K d"]:
    """The same space in a basis with as many zeros as pivoting gives: one unknown of its own per vector.

    Pivots are chosen largest first, each column then solved for; entries below the tolerance become 0.

    >>> mixed = torch.tensor([[1.0, 1.0], [-1.0, -1.0], [2.0, -2.0], [1.0, -1.0]]).double()
    >>> echelon(torch.linalg.qr(mixed).Q).abs().sort(1).values
    tensor([[0.0000, 1.0000],
            [0.0000, 1.0000],
            [0.0000, 1.0000],
            [0.0000, 0.5000]], dtype=torch.float64)
    """
    if basis.shape[1] == 0:
        return basis
    remaining, pivots = basis.clone(), []
    for _ in range(basis.shape[1]):
        pivot = int(remaining.square().sum(1).argmax())
        pivots.append(pivot)
        direction = remaining[pivot] / remaining[pivot].norm()
        remaining = remaining - (remaining @ direction)[:, None] * direction
    reduced = torch.linalg.solve(basis[pivots].T, basis.T).T
    reduced = torch.where(reduced.abs() > tolerance * reduced.abs().max(), reduced, 0.0)
    reduced = reduced / reduced.abs().amax(0)
    order = torch.argsort((reduced != 0).double().argmax(0), stable=True)
    return reduced[:, order]
