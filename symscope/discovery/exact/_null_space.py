"""Null spaces of tall constraint matrices, row block by row block, and how many dimensions they have.

The method is a sequential TSQR (Demmel, Grigori, Hoemmen and Langou, SIAM J. Sci. Comput. 34, 2012): the K x
K triangle of all rows so far is stacked on the next block and factorised again, so that one block and one
triangle are all that is held. Accumulating the Gram matrix would cost half as much, but squares the singular
values: everything below `sqrt(eps)` would be zero to rounding, and the gap the dimension rests on would be
lost.

The rule. Columns and rows are scaled to size one. Singular values up to `FLOOR * K * eps` of the largest (K
columns) are zero to rounding. Their number is the dimension, provided the step down to them is significant:
were the spectrum to run on to zero without a null space, the steps of the logarithms of its values would look
like those above, taken as exponential; the chance that the largest of so many steps is as large as the
observed one must be below the level. Otherwise the small values are indistinguishable from the tail of the
spectrum, and the dimension is 0. Null vectors must also satisfy constraints that were not used to find them.
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
from symscope.numerics import explained

FLOOR = 64.0
OVERSAMPLING = 1.25  # constraints for every unknown
SPARE = 32  # constraints more, for small problems
ROUNDS = 12  # of fresh constraints, before the search is given up
HELD_OUT = 1e-8  # relative residual that fresh constraints may leave on a null vector


@final
@dataclass(frozen=True)
class NullSpace:
    """The null space of a constraint matrix C.

    Attributes:
        basis: Orthonormal columns v with C v = 0.
        singular_values: Singular values of the scaled C, largest first, relative to the largest.
        floor: Largest singular value that is zero to rounding.
        gap: Smallest singular value above the floor, over the floor.
        chance: Chance that a spectrum without null space has such a gap by accident; 1 where there is none.
        level: Chance below which the gap counts.
        rows: Number of constraints used.
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


@explained
def null_space(blocks: Iterable[Float[Tensor, "_rows K"]], level: float = 1e-3) -> NullSpace:
    """The null space of a matrix given in blocks of rows; holds one block and a K x K matrix at a time.

    Args:
        blocks: Blocks of rows, K rows or more in all.
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
    if not 0 <= level <= 1:
        raise InputError(f"level: expected an error level from 0 to 1, got {level}.")
    rows = _RowFactor()
    for block in blocks:
        rows.append(block)
    needed = 0 if rows.triangle is None else rows.triangle.shape[1]
    if rows.triangle is None or rows.count < needed:
        raise InputError(f"expected at least {needed} constraints for as many unknowns, got {rows.count}")
    return rows.null_space(level)


def converged_null_space(
    block: Callable[[int, int], Float[Tensor, "_rows K"]], unknowns: int, level: float = 1e-3
) -> NullSpace:
    """The null space of random constraints, in rounds until a fresh round that was not used holds too.

    Constraints that are all zero do not count (points where all gradients vanish: dead ReLU units).

    Args:
        block: `(count, round) -> constraints`; every round draws new ones.
        unknowns: Number of unknowns K.
        level: Error level of the gap's significance test.

    Returns:
        The null space; `held_out` is its largest relative residual on the unused round.

    Raises:
        InputError: It does not converge, because nearly all constraints are zero.
    """
    count = max(int(OVERSAMPLING * unknowns) + SPARE, 2 * SPARE)
    rows, space = _RowFactor(), None
    for turn in range(ROUNDS):
        fresh = block(count, turn)
        fresh = fresh[fresh.square().sum(1) > 0]
        if space is not None and fresh.shape[0] >= SPARE:
            residual = rows.residual(fresh, space.basis)
            if residual <= HELD_OUT:
                return replace(space, held_out=residual)
        if fresh.shape[0]:
            rows.append(fresh)
        if rows.triangle is not None and rows.count >= OVERSAMPLING * unknowns:
            space = rows.null_space(level)
    raise InputError(
        f"after {ROUNDS} rounds of {count} random points the null space still changes (only {rows.count} "
        "constraints are not zero): most gradients vanish; draw parameters or data with another scale"
    )


@final
class _RowFactor:
    """The triangle R of the QR factorisation of all rows so far, columns and rows scaled to size one.

    Attributes:
        triangle: R of all rows; None before the first block.
        scale: Sizes of the columns, of the first block.
        count: Number of rows so far.
    """

    def __init__(self) -> None:
        self.triangle: Tensor | None = None
        self.scale = torch.ones(())
        self.count = 0

    def append(self, block: Float[Tensor, "r K"]) -> None:
        """Fold a block of rows into the triangle."""
        if not bool(torch.isfinite(block).all()):
            raise InputError("the constraints hold NaN or infinity; draw parameters and data smaller")
        if self.triangle is None:
            self.scale = _column_sizes(block)
        scaled = block / self.scale
        sizes = scaled.norm(dim=1, keepdim=True)
        scaled = scaled / torch.where(sizes > 0, sizes, 1.0)
        stacked = scaled if self.triangle is None else torch.cat([self.triangle, scaled])
        self.triangle = torch.linalg.qr(stacked, mode="r").R
        self.count += block.shape[0]

    def null_space(self, level: float) -> NullSpace:
        """The null space of all rows so far."""
        assert self.triangle is not None
        _, values, right = torch.linalg.svd(self.triangle)
        top = float(values[0])
        values = values / top if top > 0 else values
        floor = FLOOR * len(values) * torch.finfo(values.dtype).eps
        dimension, gap, chance = selected_dimension(values, floor, level)
        null = right[len(values) - dimension :].T / self.scale[:, None]
        basis = torch.linalg.qr(null).Q if dimension else null
        return NullSpace(basis, values, floor, gap, chance, level, self.count, None)

    def residual(self, rows: Float[Tensor, "r K"], basis: Float[Tensor, "K d"]) -> float:
        """Largest cosine of a constraint and a null vector, columns scaled."""
        if basis.shape[1] == 0:
            return 0.0
        across, along = rows / self.scale, basis * self.scale[:, None]
        return float((across @ along / (across.norm(dim=1)[:, None] * along.norm(dim=0))).abs().max())


def _column_sizes(block: Float[Tensor, "r K"]) -> Float[Tensor, "K"]:
    """Root mean squares; a column that is zero to rounding counts as one of the largest's size."""
    sizes = block.square().mean(0).sqrt()
    largest = sizes.max()
    noise = FLOOR * torch.finfo(sizes.dtype).eps * largest
    return torch.where(sizes > noise, sizes, largest if largest > 0 else 1.0)


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
    # the spectrum's fall per step; one value alone has none, so take a factor of e
    step = math.log(float(above[0] / above[-1])) / (len(above) - 1) if len(above) > 1 else 1.0
    step = max(step, 1e-3)
    odds = math.exp(-math.log(gap) / step)
    chance = -math.expm1(len(above) * math.log1p(-odds)) if odds < 1 else 1.0
    return (null if chance <= level else 0), gap, chance


def echelon(basis: Float[Tensor, "K d"], tolerance: float = 1e-9) -> Float[Tensor, "K d"]:
    """The same space in a sparse basis: every vector has an unknown that no other vector has.

    Pivots are the rows that Gram-Schmidt with pivoting picks, largest first, as in QR with column pivoting of
    the transpose (Golub and Van Loan, Matrix Computations, sec. 5.4); the basis is then solved for the
    identity on them. Entries below the tolerance become 0.

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
