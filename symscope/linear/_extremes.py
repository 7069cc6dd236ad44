"""The slowest and the fastest asymmetric rates of problems too big for a full spectrum, by block Lanczos."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import Quadrature
from symscope.linear._orbit_regression import OrbitRegression
from symscope.linear.group_averages import dimension
from symscope.linear.weight_parts import symmetric_projection
from symscope.numerics import checked, top_eigenpairs

# Added to K, as a fraction of its norm, so that a singular one can be factored; rates are then taken from K.
_SHIFT = 1e-12
_ONE_SIZE = 1e-6  # eigenvalues down to this share of the largest are found beside it
_ROUNDING = 1e-15  # of products with K, relative to its norm


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


@checked
def extreme_rates(
    problem: OrbitRegression,
    count: int,
    *,
    seed: int,
    quadrature: Quadrature | None = None,
    tolerance: float = 1e-8,
) -> ExtremeRates:
    """The slowest and fastest decay rates of asymmetric weights, without the full spectrum.

    Lanczos on `K_G` within the asymmetric weights for the fastest; on its inverse, from one Cholesky
    factorisation, for the slowest. A whole block of vectors is iterated: rates that repeat, as an irrep makes
    them, are listed as often as they occur.

    Args:
        problem: Any regression on orbits; its group need not be listed.
        count: Number of rates at each end.
        seed: Seed of the random start of the iteration.
        quadrature: Elements that stand for a compact group.
        tolerance: Relative accuracy asked of the rates; `residuals` say what was reached.

    Raises:
        InputError: More rates than there are asymmetric directions, `K_G` is zero, or the iteration does not
            reach the tolerance.

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

    def within(apply: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        return lambda v: asymmetric(apply(asymmetric(v).reshape(len(k), -1)).reshape(size, -1))

    def asymmetric(v: Tensor) -> Tensor:
        pages = v.mT.reshape(-1, *shape)
        return (pages - symmetric(pages)).reshape(-1, size).mT

    if not 1 <= count <= size:
        raise InputError(f"count: expected 1 to {size}, as many as there are weights, got {count}.")
    if dimension(problem.features) != len(k):
        raise InputError(f"expected K of side {dimension(problem.features)}, got {len(k)}.")
    scale = float(torch.linalg.matrix_norm(k, 1))  # bounds the largest eigenvalue
    if scale == 0:
        raise InputError("expected some data: K_G is zero, and nothing decays.")
    fastest, _ = _leading(within(lambda w: k @ w), k, size, count, seed, tolerance, _ROUNDING * scale)
    factor = _factor(k, scale)
    inverse = within(lambda w: torch.cholesky_solve(w, factor))
    inverses, vectors = _leading(inverse, k, size, count, seed, tolerance, tolerance / scale)
    if float(inverses[-1]) * scale < 0.5:  # the inverse is at least 1 / scale on asymmetric weights
        result = int((inverses * scale >= 0.5).sum())
        raise InputError(
            f"count: expected at most the {result} asymmetric directions there are, got {count}."
        )
    directions = vectors.mT.reshape(count, *shape)
    images = torch.stack([k @ v for v in directions])
    slowest = (directions * images).reshape(count, -1).sum(1)
    errors = (images - slowest.reshape(-1, *[1] * len(shape)) * directions).reshape(count, -1).norm(dim=1)
    return ExtremeRates(slowest.clamp(min=0), fastest, directions, errors)


def _factor(k: Tensor, scale: float) -> Tensor:
    """The Cholesky factor of K with as little on its diagonal as rounding lets pass."""
    eye = torch.eye(len(k), dtype=k.dtype, device=k.device)
    for shift in (_SHIFT, 10 * _SHIFT, 100 * _SHIFT):
        factor, failed = torch.linalg.cholesky_ex(k + shift * scale * eye)
        if not int(failed):
            return factor
    raise InputError(
        "expected a positive semi-definite K, as a sum of X^T X is; it has a negative eigenvalue."
    )


def _leading(
    product: Callable[[Tensor], Tensor],
    k: Tensor,
    size: int,
    count: int,
    seed: int,
    tolerance: float,
    floor: float,
) -> tuple[Tensor, Tensor]:
    """The largest eigenvalues, descending, and their vectors as columns, with every repetition.

    Those of one size are found together and then taken out: beside the huge inverse of a direction that the
    data do not reach, rounding would spoil the others.
    """
    values, vectors = k.new_zeros(0), k.new_zeros(size, 0)
    while len(values) < count:

        def rest(v: Tensor, known: Tensor = vectors) -> Tensor:
            image = product(v - known @ (known.mT @ v))
            return image - known @ (known.mT @ image)

        some = top_eigenpairs(
            rest,
            size,
            count - len(values),
            seed=seed,
            tolerance=tolerance,
            floor=floor,
            ratio=_ONE_SIZE,
            dtype=k.dtype,
            device=k.device,
        )
        first = float(some.values[0])
        last = len(some.values) if first <= floor else int((some.values >= _ONE_SIZE * first).sum())
        values = torch.cat([values, some.values[:last].to(k)])
        vectors = torch.cat([vectors, some.vectors[:, :last].to(k)], 1)
    return values, vectors
