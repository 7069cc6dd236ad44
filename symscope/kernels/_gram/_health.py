"""Is a Gram matrix fit for regression? Measured, explained in plain words; nothing is repaired in silence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.numerics import ROUNDING, explained, iterated_ends

EXACT_UP_TO = 3000  # a full eigenvalue decomposition of this size takes seconds on two cores
SMALLEST = 16  # always computed whole: block Lanczos keeps half of its columns, two blocks of 4
_PRODUCTS = 1500  # with vectors, for both extreme eigenvalues together
_ROWS = 1024  # rows looked at together, so that no second matrix is made


@final
@dataclass(frozen=True)
class Health:
    """What `health` found out about a Gram matrix K of n points.

    Attributes:
        n: Number of points.
        dtype: Its dtype; the unit roundoff eps is that of this dtype.
        non_finite: How many entries are NaN or infinite; when any is, nothing else is measured.
        symmetry_error: `max |K - K^T| / max |K|`.
        smallest: The smallest eigenvalue, of the lower half mirrored.
        largest: The largest eigenvalue.
        residual: `|K v - smallest v|` for the unit vector v found, 0 when `exact`: an eigenvalue lies within
            it, and the true smallest one is no larger than `smallest`.
        exact: Whether all eigenvalues were computed; otherwise the two are Lanczos estimates.
        condition: `largest / smallest`, infinite when smallest <= 0.
        rank: Number of eigenvalues above `n eps largest`; None where it is below n by estimates alone.
        empty: Points with `K_ii <= 0`: invisible to the kernel.
        collapsed: Groups of points that are one to the kernel, `1 - K_ij / sqrt(K_ii K_jj) <= tolerance`.
        tolerance: That tolerance.
        meaning: What it means for regression, one sentence a line.
    """

    n: int
    dtype: torch.dtype
    non_finite: int
    symmetry_error: float
    smallest: float
    largest: float
    residual: float
    exact: bool
    condition: float
    rank: int | None
    empty: tuple[int, ...]
    collapsed: tuple[tuple[int, ...], ...]
    tolerance: float
    meaning: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether `K w = y` can be solved as it is, with at least one digit right."""
        return self.non_finite == 0 and self.condition * torch.finfo(self.dtype).eps < 0.1

    def __str__(self) -> str:
        return "\n".join(self.meaning)


@explained
def health(
    K: Float[Tensor, "n m"], *, tolerance: float | None = None, exact_up_to: int = EXACT_UP_TO, seed: int = 0
) -> Health:
    """Measure a Gram matrix: symmetry, extreme eigenvalues, condition, rank, collapsed points, their meaning.

    Nothing is added to the diagonal, here or anywhere: when regression needs a ridge, `meaning` has its size.

    Args:
        K: The Gram matrix of points against themselves.
        tolerance: Points i, j are one when `1 - K_ij / sqrt(K_ii K_jj)` is at most this; 64 eps when None.
        exact_up_to: Up to this n all eigenvalues are computed; beyond it Lanczos estimates the extreme two.
        seed: Random seed of the Lanczos starting vector.

    Returns:
        The measurements with their meaning.

    Raises:
        InputError: K is not a square floating-point matrix.

    >>> K = torch.tensor([[1.0, 0.5, 1.0], [0.5, 1.0, 0.5], [1.0, 0.5, 1.0]], dtype=torch.float64)
    >>> result = health(K)
    >>> result.rank, result.collapsed, result.good
    (2, ((0, 2),), False)
    """
    if K.ndim != 2 or K.shape[0] != K.shape[1] or len(K) == 0 or not K.is_floating_point():
        raise InputError(
            f"K: expected a square floating-point matrix of points against themselves, got {tuple(K.shape)} "
            f"of {K.dtype}; for two sets of points look at the joint Gram."
        )
    eps = torch.finfo(K.dtype).eps
    near = 64 * eps if tolerance is None else tolerance
    K = K.detach()
    non_finite = sum(int((~torch.isfinite(part)).sum()) for part in K.split(_ROWS))
    if non_finite:
        nan = math.nan
        line = f"{non_finite} entries are NaN or infinite: no regression is possible; look at the inputs."
        return Health(
            len(K), K.dtype, non_finite, nan, nan, nan, nan, False, nan, None, (), (), near, (line,)
        )
    exact = len(K) <= max(exact_up_to, SMALLEST)
    smallest, largest, residual, rank = _exact_extremes(K) if exact else _estimated_extremes(K, seed)
    condition = largest / smallest if smallest > 0 else math.inf
    empty, collapsed = _collapsed(K, near)
    asymmetry = _symmetry_error(K)
    meaning = tuple(
        _on_shape(len(K), eps, asymmetry, smallest, largest, empty, collapsed)
        + _on_accuracy(len(K), eps, smallest, largest, residual, exact, rank)
    )
    return Health(
        len(K),
        K.dtype,
        0,
        asymmetry,
        smallest,
        largest,
        residual,
        exact,
        condition,
        rank,
        empty,
        collapsed,
        near,
        meaning,
    )


def _symmetry_error(K: Tensor) -> float:
    scale = max(float(part.abs().max()) for part in K.split(_ROWS))
    error = max(
        float((K[start : start + _ROWS] - K[:, start : start + _ROWS].mT).abs().max())
        for start in range(0, len(K), _ROWS)
    )
    return error / scale if scale > 0 else 0.0


def _exact_extremes(K: Tensor) -> tuple[float, float, float, int | None]:
    values = torch.linalg.eigvalsh(K)
    rank = int((values > len(K) * torch.finfo(K.dtype).eps * values[-1].abs()).sum())
    return float(values[0]), float(values[-1]), 0.0, rank


def _estimated_extremes(K: Tensor, seed: int) -> tuple[float, float, float, int | None]:
    """By Lanczos, to a residual of 1e-9 of the largest eigenvalue, or as far as rounding and patience go."""
    eps = torch.finfo(K.dtype).eps
    asked = max(1e-9, ROUNDING * eps) * math.sqrt(len(K))
    result = iterated_ends(
        lambda v: K @ v, len(K), seed=seed, tolerance=asked, limit=_PRODUCTS, dtype=K.dtype, device=K.device
    )
    (smallest, largest), residual = result.values.tolist(), float(result.residuals[0])
    certain = smallest - residual > len(K) * eps * largest
    return smallest, largest, residual, len(K) if certain else None


def _collapsed(K: Tensor, tolerance: float) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Points the kernel does not see, and groups of points it cannot tell apart."""
    diagonal = K.diagonal()
    seen = diagonal > 0
    scale = torch.where(seen, diagonal, torch.inf).rsqrt()
    first = torch.arange(len(K), device=K.device)
    for start in range(0, len(K), _ROWS):
        rows = slice(start, min(start + _ROWS, len(K)))
        cosine = K[rows] * scale[rows, None] * scale
        same = (1 - cosine <= tolerance).tril(start - 1) & seen  # with an earlier point
        has, earliest = same.max(1)
        first[rows] = torch.where(has, earliest, first[rows])
    groups: dict[int, list[int]] = {}
    leaders = first.tolist()
    for point, leader in enumerate(leaders):
        leaders[point] = leader if leader == point else leaders[leader]  # earlier, hence already final
        groups.setdefault(leaders[point], []).append(point)
    empty = (~seen).nonzero().flatten().tolist()
    return tuple(empty), tuple(tuple(group) for group in groups.values() if len(group) > 1)


def _on_shape(
    n: int,
    eps: float,
    asymmetry: float,
    smallest: float,
    largest: float,
    empty: tuple[int, ...],
    collapsed: tuple[tuple[int, ...], ...],
) -> list[str]:
    lines = []
    if asymmetry > 16 * eps:
        lines.append(
            f"Not symmetric: entries differ from their mirror image by {asymmetry:.1e} of the largest one; "
            "the half below the diagonal counts here, and solvers that read the other half will disagree."
        )
    if smallest < -n * eps * abs(largest):
        lines.append(
            f"Not positive semi-definite: eigenvalue {smallest:.2e} is more than rounding "
            f"({n * eps * abs(largest):.1e}) below zero; it is no Gram of a kernel, or its entries were "
            "computed less exactly than they are stored."
        )
    if empty:
        lines.append(f"{len(empty)} points have k(x, x) <= 0 (first: {empty[0]}): always predicted as 0.")
    if collapsed:
        points = sum(map(len, collapsed))
        lines.append(
            f"{points} points collapse to {len(collapsed)} (first group: {_few(collapsed[0])}): duplicates, "
            "or an orbit the kernel is invariant to. K is singular; keep one of each group, and where their "
            "labels differ no fit is exact."
        )
    return lines


def _on_accuracy(
    n: int, eps: float, smallest: float, largest: float, residual: float, exact: bool, rank: int | None
) -> list[str]:
    lines = []
    digits = -math.log10(eps)
    how = "" if exact else f" (estimated; residual {residual:.1e})"
    if smallest <= n * eps * abs(largest):
        known = f"rank {rank} of {n}" if rank is not None else f"rank below or near {n}, not counted"
        lines.append(
            f"Singular to working precision{how}: {known}. Interpolation has no unique or no stable "
            f"solution; use a ridge >= {n * eps * abs(largest):.1e} and report it, or a pseudo-inverse."
        )
    else:
        lost = math.log10(largest / smallest)
        lines.append(
            f"Condition number {largest / smallest:.1e}{how}: solving loses about {lost:.0f} of {digits:.0f} "
            f"digits, and noise in the labels can grow by up to {largest / smallest:.1e}."
        )
    if not exact and residual > abs(smallest):
        lines.append(
            "The estimate of the smallest eigenvalue is coarser than its value, so the condition may be "
            f"worse: all eigenvalues are computed with exact_up_to={n}."
        )
    return lines


def _few(points: tuple[int, ...]) -> str:
    return ", ".join(map(str, points[:5])) + (", ..." if len(points) > 5 else "")
