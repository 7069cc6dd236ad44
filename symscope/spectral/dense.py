"""Kernel regression with points left out, for any kernel and any points: the reference for every faster form.

With `P = (K + ridge I)^-1` over ALL points, the missing ones included, the residual on a missing set M after
training on the rest is `y_M - yhat_M = (P_MM)^-1 (P y)_M`. One factorisation serves every missing set: the
inverse of a partitioned matrix holds those of its parts (Rasmussen and Williams, Gaussian Processes for
Machine Learning, sec. 5.4.2, for one missing point).
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from symscope.errors import InputError, SingularKernelError
from symscope.numerics import check_ridge, checked
from symscope.spectral._matrix_checks import (
    check_gram,
    check_inverse_gram,
    check_missing,
    check_not_negative,
    real_labels,
)

__all__ = ["leave_one_out_residuals", "leave_out_residual", "precision", "regression"]


@checked
def precision(gram: Float[Tensor, "n n"], ridge: float) -> Float[Tensor, "n n"]:
    """The inverse of the regularised kernel matrix, `P = (K + ridge I)^-1`.

    Args:
        gram: K over all points, symmetric.
        ridge: Number added to the diagonal of K, not negative; there is no default because results depend on
            it.

    Returns:
        P, symmetric.

    Raises:
        InputError: A matrix that is not symmetric or finite, or a negative ridge.
        SingularKernelError: A matrix that is singular to rounding.

    >>> precision(torch.tensor([[2.0, 1.0], [1.0, 1.0]], dtype=torch.float64), ridge=0.0)
    tensor([[ 1.0000, -1.0000],
            [-1.0000,  2.0000]], dtype=torch.float64)
    """
    check_gram(gram)
    check_ridge(ridge)
    return torch.cholesky_inverse(cholesky_factor(gram, ridge))


def cholesky_factor(gram: Float[Tensor, "n n"], ridge: float) -> Float[Tensor, "n n"]:
    """L with `K + ridge I = L L^T`, lower triangular.

    Args:
        gram: K over all points, symmetric.
        ridge: Number added to the diagonal of K.

    Raises:
        InputError: An eigenvalue clearly below zero.
        SingularKernelError: A matrix that is singular to rounding.
    """
    regular = gram.clone() if ridge else gram
    if ridge:
        regular.diagonal().add_(ridge)
    factor, failed = torch.linalg.cholesky_ex(regular)
    pivots = factor.detach().diagonal().square()
    least = torch.finfo(gram.dtype).eps * len(gram) * float(regular.detach().diagonal().max())
    row = int(failed) - 1 if bool(failed) else int(pivots.argmin())
    if bool(failed) or not float(pivots[row]) > least:
        check_not_negative(regular.detach(), "the kernel matrix")
        raise SingularKernelError(
            f"the kernel matrix of {len(gram)} points with ridge {ridge:g} is singular to rounding "
            f"(row {row}): points repeat or nearly do; remove them, or use a larger ridge"
        )
    return factor


@checked
def leave_out_residual(
    precision: Float[Tensor, "n n"], labels: Float[Tensor, "labels *c"], missing: Int64[Tensor, "m"]
) -> Float[Tensor, "m *c"]:
    """True label minus prediction on a missing set, after training on all other points.

    `y_M - yhat_M = (P_MM)^-1 (P y)_M`.

    Args:
        precision: P over all points, from `precision`.
        labels: The true labels of all points, numbers or vectors.
        missing: The positions left out, each once.

    Returns:
        The residuals, in the order of `missing`.

    Raises:
        InputError: A matrix that is not square, labels that do not match, no position, one twice, all of
            them, or one outside.

    >>> P = precision(torch.tensor([[1.0, 0.5], [0.5, 1.0]], dtype=torch.float64), ridge=0.0)
    >>> leave_out_residual(P, torch.tensor([1.0, -1.0], dtype=torch.float64), torch.tensor([0]))
    tensor([1.5000], dtype=torch.float64)
    """
    check_inverse_gram(precision)
    labels = real_labels(labels, len(precision), precision)
    check_missing(missing, len(precision))
    weights = (
        precision[missing] @ labels.flatten(1) if labels.ndim > 1 else precision[missing] @ labels[:, None]
    )
    block = precision[missing][:, missing]
    return torch.linalg.solve(block, weights).reshape(len(missing), *labels.shape[1:])


@checked
def leave_one_out_residuals(
    precision: Float[Tensor, "n n"], labels: Float[Tensor, "labels *c"]
) -> Float[Tensor, "n *c"]:
    """The residual of every point, each left out alone: `(P y)_i / P_ii`.

    Args:
        precision: P over all points.
        labels: The true labels.

    Raises:
        InputError: A matrix that is no inverse of a kernel matrix, or labels that do not match.

    >>> P = precision(torch.tensor([[1.0, 0.5], [0.5, 1.0]], dtype=torch.float64), ridge=0.0)
    >>> leave_one_out_residuals(P, torch.tensor([1.0, -1.0], dtype=torch.float64)).round(decimals=6).tolist()
    [1.5, -1.5]
    """
    check_inverse_gram(precision)
    labels = real_labels(labels, len(precision), precision)
    if not bool((precision.diagonal() > 0).all()):
        raise InputError("precision: expected a positive diagonal, which the inverse of a kernel matrix has.")
    diagonal = precision.diagonal().reshape(-1, *[1] * (labels.ndim - 1))
    return torch.tensordot(precision, labels, 1) / diagonal


@checked
def regression(
    gram: Float[Tensor, "n n"], labels: Float[Tensor, "labels *c"], missing: Int64[Tensor, "m"], ridge: float
) -> Float[Tensor, "m *c"]:
    """The prediction on a missing set by solving the regression on the rest, the plain way.

    `yhat_M = K_MT (K_TT + ridge I)^-1 y_T`, T the points that are not missing. The labels of the missing
    points are not looked at.

    Args:
        gram: K over all points.
        labels: Labels of all points.
        missing: The positions left out.
        ridge: Number added to the diagonal of K, not negative.

    Raises:
        InputError: As for `precision` and `leave_out_residual`.

    >>> K = torch.tensor([[1.0, 0.5], [0.5, 1.0]], dtype=torch.float64)
    >>> regression(K, torch.tensor([1.0, -1.0], dtype=torch.float64), torch.tensor([0]), ridge=0.0).tolist()
    [-0.5]
    """
    check_gram(gram)
    labels = real_labels(labels, len(gram), gram)
    check_missing(missing, len(gram))
    there = torch.ones(len(gram), dtype=torch.bool, device=gram.device)
    there[missing] = False
    inverse = precision(gram[there][:, there], ridge)
    return torch.tensordot(gram[missing][:, there], torch.tensordot(inverse, labels[there], 1), 1)
