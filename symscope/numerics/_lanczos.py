"""Extreme eigenvalues of a symmetric matrix known only by its products: block Lanczos, in one place.

A block of random vectors is enlarged by the residuals of its best approximate eigenvectors (Ritz vectors),
orthogonalised against everything before, and cut back to the best when it is full: block Lanczos (Golub and
Underwood 1977) with thick restarts (Wu and Simon 2000). One start vector sees a repeated eigenvalue once; a
block at least as wide as the number of pairs sought sees it as often as is asked. Full orthogonalisation
avoids the copies that rounding makes of eigenvalues found before. Residuals are computed, not estimated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.numerics._checked import checked, explained
from symscope.numerics._checks import check_count, check_memory
from symscope.numerics._randomness import seed_generator

ROUNDING = 64  # in units of the machine epsilon: products with vectors are no better, relative to the largest
BLOCK = 4  # vectors iterated together for the ends of a spectrum
SPARE = 2  # vectors of the block beyond the pairs sought: the last ones wanted converge sooner
DENSE_UP_TO = 32  # a matrix no larger is built and diagonalised
COLUMNS = 128  # in the basis before it is cut back, or 12 blocks
LARGEST_BASIS = 2**34  # bytes of basis and images together; fewer columns for very long vectors
KEPT = 40  # of them, or 2 blocks; most from the end that is not there yet
SWEEPS = 2000  # enlargements of the basis before giving up
CLEAN = 1e-8  # overlap with the basis that one more subtraction brings to rounding
PASSES = 4  # subtractions at most: residuals that are nothing but rounding have to be found new directions
SLAB = 2**18  # numbers of a vector multiplied at once
WELL_CONDITIONED = 1e-6  # of the diagonal of a Cholesky factor: Gram matrices square condition numbers

Product = Callable[[Tensor], Tensor]


@final
@dataclass(frozen=True)
class Eigenpairs:
    """Some eigenvalues of a symmetric matrix, with how well they are known.

    Attributes:
        values: Eigenvalues, in the order the function that found them says.
        vectors: Unit eigenvectors, a column each.
        residuals: `|A v - value v|` for each pair: an eigenvalue of A lies within that distance of the value.
        products: How many products of A with a vector were taken, those for the residuals included.
        converged: Whether the residuals are as small as was asked.
    """

    values: Float[Tensor, " k"]
    vectors: Float[Tensor, "n k"]
    residuals: Float[Tensor, " k"]
    products: int
    converged: bool = True

    @property
    def scale(self) -> float:
        """The largest absolute value among these eigenvalues."""
        return float(self.values.abs().max())


@explained
def columnwise(product: Product) -> Product:
    """`V [n, k] -> A V [n, k]` from `v [n] -> A v [n]`, a column at a time.

    >>> columnwise(lambda v: torch.tensor([1.0, 2.0]) * v)(torch.ones(2, 3)).tolist()
    [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
    """
    return lambda columns: torch.stack([product(v) for v in columns.mT]).mT


@checked
def top_eigenpairs(
    product: Product,
    size: int,
    count: int,
    *,
    seed: int,
    tolerance: float = 1e-10,
    floor: float | None = None,
    ratio: float = 0.0,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
) -> Eigenpairs:
    """The largest eigenvalues of a symmetric matrix, as often as they repeat, in descending order.

    Where they are many of the matrix's own, or it is no larger than 32, its columns are computed and it is
    diagonalised directly: that takes no more products.

    Args:
        product: `V [n, k] -> A V [n, k]` for a symmetric A; `columnwise` makes it from `v -> A v`.
        size: Side n of the matrix.
        count: Number of pairs, from 1 to n.
        seed: Seed of the random start.
        tolerance: Residual asked of a pair, relative to its eigenvalue.
        floor: Residual that is rounding and always accepted; None for that of `dtype` beside the largest
            eigenvalue.
        ratio: Share of the largest eigenvalue below which values are accepted as they are, for callers that
            look for them again without the large ones.
        dtype: Dtype of the vectors that `product` gets; everything else is in float64.
        device: Device of the vectors that `product` gets.

    Raises:
        InputError: A count out of range, products that are not finite, or no convergence.

    >>> a = torch.tensor([[2.0, 1.0], [1.0, 2.0]], dtype=torch.float64)
    >>> top_eigenpairs(lambda v: a @ v, 2, 1, seed=0).values.round(decimals=10).tolist()
    [3.0]
    """
    check_memory("the start", 8 * SPARE * check_count("size", size), "use a smaller matrix")
    if not 1 <= count <= size:
        raise InputError(f"count: expected 1 to {size}, the size of the matrix, got {count}.")
    times = _Counted(product, dtype)
    width = min(size, count + SPARE)
    if size <= max(DENSE_UP_TO, 4 * width):
        matrix = times(torch.eye(size, dtype=torch.float64, device=device))
        values, vectors = torch.linalg.eigh(_symmetric(matrix))
        values, vectors = values.flip(0)[:count], vectors.flip(1)[:, :count]
        return Eigenpairs(values, vectors, _lengths(matrix @ vectors - vectors * values), size)
    rounding = ROUNDING * torch.finfo(dtype).eps

    def accepted(values: Tensor, residuals: Tensor, largest: Tensor) -> Tensor:
        least = rounding * largest if floor is None else floor
        small = values < ratio * values.max() if ratio else torch.zeros_like(values, dtype=torch.bool)
        return (residuals <= (tolerance * values.abs()).clamp(min=least)) | small

    start = _random(size, width, seed, device)
    values, vectors, converged = _block_lanczos(times, start, 0, count, accepted, SWEEPS * width, None)
    if not converged:
        raise InputError(
            f"Lanczos did not reach the tolerance {tolerance:g} for {count} eigenvalues in {times.count} "
            "products; raise the tolerance or ask for fewer."
        )
    values, vectors = values.flip(0), vectors.flip(1)
    return Eigenpairs(values, vectors, _lengths(times(vectors) - vectors * values), times.count)


@checked
def iterated_ends(
    product: Product,
    size: int,
    *,
    seed: int,
    tolerance: float,
    limit: int,
    dimension: int | None = None,
    within: Product | None = None,
    floor: float = 0.0,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
) -> Eigenpairs:
    """The lowest and the highest eigenvalue, in this order, as good as so many products make them.

    The residual asked for is `tolerance / sqrt(dimension)` of the largest absolute eigenvalue found, not of
    the eigenvalue sought, which may be zero. The root is there because a random start in a space of that
    dimension has `1 / sqrt(dimension)` of its length along each eigenvector, and where many eigenvalues lie
    close together a lower one shows up in the residual by that share only.

    Args:
        product: `V [n, k] -> A V [n, k]` for a symmetric A; `columnwise` makes it from `v -> A v`.
        size: Side n of the matrix.
        seed: Seed of the random start.
        tolerance: How far below the lowest found another may hide, relative to the largest absolute one.
        limit: Products after which to give up; `converged` tells.
        dimension: Dimension of the subspace, at least 128; None for n.
        within: The orthogonal projection of columns on a subspace from which and into which A maps, or None.
        floor: Residual that is only rounding, where A is much larger outside the subspace.
        dtype: Dtype of the vectors that `product` gets; everything else is in float64.
        device: Device of the vectors that `product` gets.

    Raises:
        InputError: Products that are not finite.

    >>> spectrum = torch.cat([torch.tensor([-0.25]), torch.zeros(150), torch.linspace(0.5, 2, 149)])
    >>> result = iterated_ends(lambda v: spectrum[:, None] * v, 300, seed=0, tolerance=1e-8, limit=300)
    >>> result.converged, result.values.round(decimals=10).tolist()
    (True, [-0.25, 2.0])
    """
    check_memory("the start", 8 * BLOCK * check_count("size", size), "use a smaller matrix")
    times = _Counted(product, dtype)
    asked = tolerance / math.sqrt(dimension or size)

    def accepted(values: Tensor, residuals: Tensor, largest: Tensor) -> Tensor:
        return residuals <= (asked * largest).clamp(min=floor)

    start = _random(size, BLOCK, seed, device)
    values, vectors, converged = _block_lanczos(times, start, 1, 1, accepted, limit, within)
    return Eigenpairs(values, vectors, _lengths(times(vectors) - vectors * values), times.count, converged)


@checked
def exact_ends(product: Product, size: int, device: torch.device | str = "cpu") -> Eigenpairs:
    """The lowest and the highest eigenvalue from all columns of the matrix: none can be missed.

    Args:
        product: `V [n, k] -> A V [n, k]` for a symmetric A.
        size: Side n of the matrix.
        device: Device of the vectors.

    Raises:
        InputError: Products that are not finite.

    >>> exact_ends(lambda v: torch.tensor([[3.0], [-1.0], [0.0]]) * v, 3).values.tolist()
    [-1.0, 3.0]
    """
    check_memory("the matrix", 8 * check_count("size", size) ** 2, "use iterated_ends")
    matrix = _Counted(product, torch.float64)(torch.eye(size, dtype=torch.float64, device=device))
    values, vectors = torch.linalg.eigh(_symmetric(matrix))
    values, vectors = values[[0, -1]], vectors[:, [0, -1]]
    return Eigenpairs(values, vectors, _lengths(matrix @ vectors - vectors * values), size)


def _block_lanczos(
    times: _Counted,
    start: Float[Tensor, "n b"],
    lowest: int,
    highest: int,
    accepted: Callable[[Tensor, Tensor, Tensor], Tensor],
    limit: int,
    within: Product | None,
) -> tuple[Float[Tensor, " k"], Float[Tensor, "n k"], bool]:
    """So many of the lowest and of the highest eigenpairs, ascending, and whether all are accepted.

    Args:
        times: Products with A.
        start: A block of vectors.
        lowest: Pairs sought at the lower end.
        highest: Pairs sought at the upper end.
        accepted: `(Ritz values, residuals, largest absolute Ritz value) -> which are good enough`.
        limit: Products after which to give up.
        within: Projection on a subspace, or None.
    """
    size, width = start.shape
    columns = min(size, max(COLUMNS, 12 * width), max(6 * width, LARGEST_BASIS // (16 * size)))
    kept = min(columns // 2, max(KEPT, 2 * width))
    low_end, high_end = list(range(width if lowest else 0)), list(range(-width if highest else 0, 0))
    # vectors are rows here: long ones are read in one piece, and a row is added without copying the others
    basis, images = (start.new_empty(columns, size) for _ in range(2))
    basis[:width] = _orthonormal((start if within is None else within(start)).mT)
    images[:width] = times(basis[:width].mT).mT
    filled, inner = width, _inner(basis[:width], images[:width])
    while True:
        values, turn = torch.linalg.eigh(_symmetric(inner))
        ends = low_end + high_end
        left = turn[:, ends].mT @ images[:filled]
        left -= (turn[:, ends] * values[ends]).mT @ basis[:filled]
        sizes = _lengths(left.mT)
        there = accepted(values[ends], sizes, values.abs().max())
        low_there, high_there = bool(there[:lowest].all()), bool(there[len(there) - highest :].all())
        if (low_there and high_there) or times.count + width > limit:
            wanted = [*range(lowest), *range(-highest, 0)]
            return values[wanted], (turn[:, wanted].mT @ basis[:filled]).mT, low_there and high_there
        # an end that is there needs no more; all residuals span the same few directions
        chosen = _next(there, width if low_end else 0, low_there, high_there)
        new = left[chosen] / sizes[chosen].clamp(min=1e-300)[:, None]
        del left
        if filled + len(new) > columns:
            below = kept - width if high_there else width if low_there else kept // 2
            below = 0 if not lowest else kept if not highest else below
            best = [*range(below), *range(below - kept, 0)]
            for rows in (basis, images):
                rows[:kept] = turn[:, best].mT @ rows[:filled]
            filled, inner = kept, values[best].diag()
        new = _added(basis[:filled], new, within)
        further = times(new.mT).mT
        across = _inner(basis[:filled], further)
        inner = torch.cat([torch.cat([inner, across], 1), torch.cat([across.mT, _inner(new, further)], 1)], 0)
        basis[filled : filled + len(new)], images[filled : filled + len(new)] = new, further
        filled += len(new)


def _added(basis: Float[Tensor, "k n"], new: Float[Tensor, "b n"], within: Product | None) -> Tensor:
    """Orthonormal rows that span what new ones add to a basis, on the subspace."""
    for _ in range(PASSES):
        new = _orthonormal(new)
        new = new if within is None else within(new.mT).mT
        overlap = _inner(basis, new)
        new = new - overlap.mT @ basis
        if float(overlap.abs().max()) <= CLEAN:
            break
    return _orthonormal(new)


def _orthonormal(rows: Float[Tensor, "b n"]) -> Float[Tensor, "b n"]:
    """Orthonormal rows with the same span, or with any more directions where they are dependent.

    Twice by Cholesky factors of the Gram matrix (CholeskyQR2, Yamamoto et al. 2015), which reads long rows
    a few times only; by reflections where they are nearly dependent.
    """
    result = rows
    for _ in range(2):
        factor, failed = torch.linalg.cholesky_ex(_inner(result, result))
        sizes = factor.diagonal()
        if int(failed) or not bool(sizes.min() > WELL_CONDITIONED * sizes.max()):
            return torch.linalg.qr(rows.mT).Q.mT
        result = torch.linalg.inv(factor) @ result
    return result


def _inner(a: Float[Tensor, "k n"], b: Float[Tensor, "b n"]) -> Float[Tensor, "k b"]:
    """Scalar products of rows, a slab of long ones at a time: side by side on a GPU."""
    slabs = a.shape[1] // SLAB
    if slabs < 2:
        return a @ b.mT
    head = slabs * SLAB
    parts = [rows[:, :head].unflatten(1, (slabs, SLAB)).transpose(0, 1) for rows in (a, b)]
    return torch.bmm(parts[0], parts[1].mT).sum(0) + a[:, head:] @ b[:, head:].mT


def _next(there: Tensor, low: int, low_there: bool, high_there: bool) -> list[int]:
    """Positions of the Ritz vectors whose residuals enlarge the basis: those of the ends not there yet."""
    missing = (~there).nonzero()[:, 0].tolist()
    below, above = [k for k in missing if k < low], [k for k in missing if k >= low]
    if low_there or not low:
        return above
    if high_there or low == len(there):
        return below
    return below[: low // 2] + above[-(low // 2) :]


@final
class _Counted:
    """Products in the caller's precision, as float64, checked and counted."""

    def __init__(self, product: Product, dtype: torch.dtype) -> None:
        self._product, self._dtype, self.count = product, dtype, 0

    def __call__(self, vectors: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        self.count += vectors.shape[1]
        images = self._product(vectors.to(self._dtype)).detach().to(torch.float64)
        if images.shape != vectors.shape:
            raise InputError(
                f"expected products of the vectors' shape {tuple(vectors.shape)}, got {tuple(images.shape)}."
            )
        if not bool(images.isfinite().all()):
            raise InputError(
                "expected finite products with finite vectors, got NaN or infinity; rescale data or weights."
            )
        return images


def _random(size: int, width: int, seed: int, device: torch.device | str) -> Float[Tensor, "n b"]:
    generator = seed_generator(seed)
    return torch.randn(width, size, generator=generator, dtype=torch.float64).mT.to(device)


def _symmetric(matrix: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    return (matrix + matrix.mT) / 2


def _lengths(columns: Float[Tensor, "n k"]) -> Float[Tensor, " k"]:
    return torch.linalg.vector_norm(columns, dim=0)
