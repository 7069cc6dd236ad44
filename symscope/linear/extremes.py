"""The slowest and the fastest asymmetric rates of problems too big for a full spectrum, by Lanczos."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import Quadrature
from symscope.kernels.eigenpairs import top_eigenpairs
from symscope.linear.averages import dimension
from symscope.linear.regression import Regression
from symscope.linear.split import symmetric_projection

# Added to K, as a fraction of its norm, so that a singular one can be factored; rates are then taken from K.
_SHIFT = 1e-12


@final
@dataclass(frozen=True, eq=False)
class ExtremeRates:
    """Some decay rates of the asymmetric weights, at either end of the spectrum.

    Attributes:
        slowest: Ascending.
        fastest: Descending.
        slowest_directions: Unit asymmetric weights that decay at the slowest rates, `[count, d, *m]`.
        residuals: `|K v - rate v|` for the slowest: how far an exact rate may be.
    """

    slowest: Float[Tensor, " count"]
    fastest: Float[Tensor, " count"]
    slowest_directions: Tensor
    residuals: Float[Tensor, " count"]


def extreme_rates(
    problem: Regression,
    count: int,
    *,
    seed: int,
    quadrature: Quadrature | None = None,
    tolerance: float = 1e-8,
) -> ExtremeRates:
    """The slowest and fastest decay rates of asymmetric weights, without the full spectrum.

    Lanczos on `K_G` within the asymmetric weights for the fastest; on its inverse, from one Cholesky
    factorisation, for the slowest. Rates that repeat, as an irrep makes them, are listed as often as they
    occur.

    Args:
        problem: Any regression on orbits; its group need not be listed.
        count: How many at each end.
        seed: Of the random start of the iteration.
        quadrature: For compact groups, elements that stand for it.
        tolerance: Relative accuracy asked of the rates; `residuals` say what was reached.

    Raises:
        InputError: More rates than there are asymmetric directions, or `K_G` is zero.

    >>> from symscope.groups import permutation, symmetric
    >>> from symscope.linear import orbit_regression, second_moments
    >>> x = torch.tensor([[1.0] + [0.0] * 9])
    >>> problem = orbit_regression(second_moments(x, torch.tensor([1.0])), permutation(symmetric(10)))
    >>> round(extreme_rates(problem, 1, seed=0).slowest.item())  # 9! = 10!/10 copies of every unit vector
    362880
    """
    k = problem.k
    shape = problem.c.shape
    size = problem.c.numel()
    symmetric = symmetric_projection(problem.features, problem.labels, quadrature)

    def asymmetric(v: Tensor) -> Tensor:
        return v - symmetric(v)

    def within(apply: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        return lambda v: asymmetric(apply(asymmetric(v.reshape(shape)))).reshape(-1)

    def leading(apply: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
        return _leading(within(apply), size, count, seed, k, tolerance)

    if dimension(problem.features) != len(k):
        raise InputError(f"expected K of side {dimension(problem.features)}, got {len(k)}.")
    scale = float(torch.linalg.matrix_norm(k, 1))  # bounds the largest eigenvalue
    if scale == 0:
        raise InputError("expected some data: K_G is zero, and nothing decays.")
    fastest, _ = leading(lambda w: k @ w)
    factor = torch.linalg.cholesky(k + _SHIFT * scale * torch.eye(len(k), dtype=k.dtype, device=k.device))
    inverses, vectors = leading(lambda w: torch.cholesky_solve(w.reshape(len(k), -1), factor).reshape(shape))
    if float(inverses[-1]) * scale < 0.5:  # the inverse is at least 1 / scale on asymmetric weights
        found = int((inverses * scale >= 0.5).sum())
        raise InputError(f"count: expected at most the {found} asymmetric directions there are, got {count}.")
    directions = vectors.mT.reshape(count, *shape)
    images = torch.stack([k @ v for v in directions])
    slowest = (directions * images).reshape(count, -1).sum(1)
    errors = (images - slowest.reshape(-1, *[1] * len(shape)) * directions).reshape(count, -1).norm(dim=1)
    return ExtremeRates(slowest.clamp(min=0), fastest, directions, errors)


def _leading(
    product: Callable[[Tensor], Tensor], size: int, count: int, seed: int, like: Tensor, tolerance: float
) -> tuple[Tensor, Tensor]:
    """The largest eigenvalues, descending, and their vectors as columns, with every repetition.

    A symmetry makes rates repeat exactly, and Lanczos from one start sees each only once. So it is run again
    without what was found, until nothing that would belong in the list is left.
    """
    values = torch.zeros(0, dtype=like.dtype, device=like.device)
    vectors = torch.zeros(size, 0, dtype=like.dtype, device=like.device)

    def rest(v: Tensor) -> Tensor:
        outside = v - vectors @ (vectors.mT @ v)
        image = product(outside)
        return image - vectors @ (vectors.mT @ image)

    while True:
        found = top_eigenpairs(
            rest, size, count, seed=seed, dtype=like.dtype, device=like.device, tolerance=tolerance
        )
        best = float(found.values[0])
        if len(values) >= count and best <= float(values[count - 1]) * (1 + 10 * tolerance):
            return values[:count], vectors[:, :count]
        every = torch.linalg.qr(torch.cat([vectors, found.vectors.to(like)], 1)).Q
        images = torch.stack([product(v) for v in every.mT], 1)
        values, turn = torch.linalg.eigh(every.mT @ images)  # copies of one rate come out together
        values, vectors = values.flip(0), (every @ turn).flip(1)
        if vectors.shape[1] >= size:
            return values[:count], vectors[:, :count]
