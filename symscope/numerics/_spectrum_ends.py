"""The lowest and the highest eigenvalue of a symmetric operator: from its matrix, or by block Lanczos."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError

ROUNDING = 64  # in units of the machine epsilon: products with vectors are no better, relative to the largest
BLOCK = 4  # vectors iterated together: one alone sees a repeated eigenvalue once
COLUMNS = 128  # in the basis before it is cut back
ENDMOST = [*range(BLOCK), *range(-BLOCK, 0)]  # of the approximate eigenvectors
KEPT = 40  # of them, most from the end that is not there yet

Times = Callable[[Tensor], Tensor]


@final
@dataclass(frozen=True)
class Ends:
    """Both ends of a spectrum, lowest first.

    Attributes:
        values: The lowest and the highest eigenvalue.
        vectors: Unit eigenvectors, a column each.
        residuals: `|A v - value v|` of each.
        products: Products with A that it took.
        converged: Whether the residuals are as small as was asked.
    """

    values: Float[Tensor, " 2"]
    vectors: Float[Tensor, "n 2"]
    residuals: Float[Tensor, " 2"]
    products: int
    converged: bool

    @property
    def scale(self) -> float:
        """The largest absolute eigenvalue."""
        return float(self.values.abs().max())


def exact_ends(times: Times, size: int, device: torch.device | str = "cpu") -> Ends:
    """Both ends from all columns of the matrix: no eigenvalue can be missed.

    Args:
        times: `v [n] -> A v [n]` for a symmetric A.
        size: n.
        device: Of the vectors.

    Raises:
        InputError: Products that are NaN or infinite.

    >>> exact_ends(lambda v: torch.tensor([3.0, -1.0, 0.0]) * v, 3).values.tolist()
    [-1.0, 3.0]
    """
    matrix = _columns(times, torch.eye(size, dtype=torch.float64, device=device))
    values, vectors = torch.linalg.eigh((matrix + matrix.mT) / 2)
    values, vectors = values[[0, -1]], vectors[:, [0, -1]]
    return Ends(values, vectors, _lengths(matrix @ vectors - vectors * values), size, True)


def iterated_ends(
    times: Times,
    within: Callable[[Float[Tensor, "k n"]], Float[Tensor, "k n"]],
    size: int,
    *,
    dimension: int,
    seed: int,
    tolerance: float,
    limit: int,
    floor: float = 0.0,
    device: torch.device | str = "cpu",
) -> Ends:
    """Both ends on a subspace by block Lanczos: random start, full orthogonalisation, restarts.

    The residual asked for is `tolerance / sqrt(dimension)` of the largest absolute eigenvalue found, not of
    the eigenvalue sought, which may be zero. The root is there because a random start in a space of that
    dimension has `1 / sqrt(dimension)` of its length along each eigenvector, and where many eigenvalues lie
    close together a lower one shows up in the residual by that share only.

    Args:
        times: `v [n] -> A v [n]`, symmetric, from the subspace into it.
        within: The orthogonal projection on the subspace, of the rows of a matrix.
        size: n.
        dimension: Of the subspace, at least 128.
        seed: Of the random start.
        tolerance: How far below the lowest found another may hide, relative to the largest absolute one.
        limit: Products after which to give up.
        floor: A residual that is only rounding, where A is much larger outside the subspace.
        device: Of the vectors.

    Raises:
        InputError: Products that are NaN or infinite.

    >>> spectrum = torch.cat([torch.tensor([-0.25]), torch.zeros(150), torch.linspace(0.5, 2, 149)])
    >>> options = dict(dimension=300, seed=0, tolerance=1e-8, limit=300)
    >>> found = iterated_ends(lambda v: spectrum * v, lambda v: v, 300, **options)
    >>> found.converged, found.values.round(decimals=10).tolist()
    (True, [-0.25, 2.0])
    """
    generator = torch.Generator().manual_seed(seed)
    start = torch.randn(BLOCK, size, generator=generator, dtype=torch.float64).to(device)
    basis = torch.linalg.qr(within(start).mT).Q
    images = _columns(times, basis)
    products = BLOCK
    asked = tolerance / math.sqrt(dimension)
    while True:
        product = basis.mT @ images
        values, turn = torch.linalg.eigh((product + product.mT) / 2)
        outer = turn[:, ENDMOST]
        left = images @ outer - (basis @ outer) * values[ENDMOST]
        sizes = _lengths(left)
        there = sizes <= (asked * values.abs().max()).clamp(min=floor)
        if bool(there[0] and there[-1]) or products + BLOCK > limit:
            vectors = basis @ turn[:, [0, -1]]
            errors = _lengths(_columns(times, vectors) - vectors * values[[0, -1]])
            return Ends(values[[0, -1]], vectors, errors, products + 2, bool(there[0] and there[-1]))
        # the end that is there needs no more; all residuals span the same few directions
        next_ones = _next(bool(there[0]), bool(there[-1]))
        new = left[:, next_ones] / sizes[next_ones].clamp(min=1e-300)
        if basis.shape[1] + BLOCK > COLUMNS:
            low = KEPT - BLOCK if there[-1] else BLOCK if there[0] else KEPT // 2
            best = torch.cat([turn[:, :low], turn[:, low - KEPT :]], 1)
            basis, images = basis @ best, images @ best
        for _ in range(3):  # again, for what rounding leaves and for residuals that are nothing but rounding
            new = within(torch.linalg.qr(new - basis @ (basis.mT @ new)).Q.mT).mT
        new = torch.linalg.qr(new).Q
        basis, images = torch.cat([basis, new], 1), torch.cat([images, _columns(times, new)], 1)
        products += BLOCK


def _next(low: bool, high: bool) -> list[int]:
    """Which of the endmost vectors to improve, by whether the ends are there already."""
    if low or high:
        return list(range(BLOCK)) if high else list(range(-BLOCK, 0))
    return [*range(BLOCK // 2), *range(-BLOCK // 2, 0)]


def _columns(times: Times, vectors: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
    found = torch.stack([times(v).detach().to(torch.float64) for v in vectors.mT], dim=1)
    if not bool(found.isfinite().all()):
        raise InputError("expected finite Hessian products, got NaN or infinity: rescale data or layers.")
    return found


def _lengths(columns: Float[Tensor, "n k"]) -> Float[Tensor, " k"]:
    return torch.linalg.vector_norm(columns, dim=0)
