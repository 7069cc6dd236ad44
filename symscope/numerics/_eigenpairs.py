"""The largest eigenvalues of a matrix known only by its products with vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError


@final
@dataclass(frozen=True)
class Eigenpairs:
    """Some eigenvalues of a symmetric matrix, with how well they are known.

    Attributes:
        values: Eigenvalues in descending order.
        vectors: Unit eigenvectors, a column each.
        residuals: `|A v - value v|` for each pair: an eigenvalue of A lies within that distance of the value.
        products: How many products with A were taken, those for the residuals included.
    """

    values: Float[Tensor, " k"]
    vectors: Float[Tensor, "n k"]
    residuals: Float[Tensor, " k"]
    products: int


def top_eigenpairs(
    product: Callable[[Tensor], Tensor],
    size: int,
    count: int,
    *,
    seed: int,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
    tolerance: float = 1e-10,
) -> Eigenpairs:
    """The largest eigenvalues of a symmetric matrix from its products with vectors (Lanczos, ARPACK).

    When more than half of them are asked for, or the matrix is no larger than 32, its columns are computed
    and it is diagonalised directly: that takes no more products.

    Args:
        product: `v [n] -> A v [n]` for a symmetric A.
        size: n.
        count: How many, from 1 to n.
        seed: Of the random starting vector.
        dtype: Of the vectors `product` gets.
        device: Of the vectors `product` gets.
        tolerance: Relative accuracy asked of the eigenvalues.

    Returns:
        The pairs with their residual norms.

    Raises:
        InputError: If count is out of range, products are not finite or the iteration does not converge.

    >>> a = torch.tensor([[2.0, 1.0], [1.0, 2.0]], dtype=torch.float64)
    >>> top_eigenpairs(lambda v: a @ v, 2, 1, seed=0).values.round(decimals=10).tolist()
    [3.0]
    """
    if not 1 <= count <= size:
        raise InputError(f"count: expected 1 to {size}, the size of the matrix, got {count}.")
    taken = 0

    def times(v: np.ndarray) -> np.ndarray:
        nonlocal taken
        taken += 1
        result = (
            product(torch.from_numpy(v.reshape(-1)).to(device, dtype))
            .detach()
            .cpu()
            .to(torch.float64)
            .numpy()
        )
        if not np.isfinite(result).all():
            raise InputError("The product with a finite vector is NaN or infinite; rescale the inputs.")
        return result

    if size <= 32 or 2 * count > size:
        values, vectors = _dense(times, size, count)
    else:
        values, vectors = _lanczos(times, size, count, seed, tolerance)
    residuals = [np.linalg.norm(times(v) - value * v) for value, v in zip(values, vectors.T, strict=True)]
    return Eigenpairs(
        torch.from_numpy(values.copy()).to(device),
        torch.from_numpy(vectors.copy()).to(device),
        torch.tensor(np.array(residuals), device=device),
        taken,
    )


def _dense(times: Callable[[np.ndarray], np.ndarray], size: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    matrix = np.stack([times(e) for e in np.eye(size)], axis=1)
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return values[::-1][:count], vectors[:, ::-1][:, :count]


def _lanczos(
    times: Callable[[np.ndarray], np.ndarray], size: int, count: int, seed: int, tolerance: float
) -> tuple[np.ndarray, np.ndarray]:
    # imported here, because it would add a quarter to the time of importing torch
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    start = np.random.default_rng(seed).standard_normal(size)
    operator = LinearOperator((size, size), matvec=times, dtype=np.float64)
    try:
        values, vectors = eigsh(operator, count, which="LA", v0=start, tol=tolerance)
    except ArpackNoConvergence as error:
        raise InputError(
            f"Lanczos found {len(error.eigenvalues)} of {count} eigenvalues to the tolerance {tolerance:g}; "
            "raise the tolerance or ask for fewer."
        ) from error
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]
