"""Kernel regression with points left out, for any kernel and any points: the reference for every faster form.

With `P = (K + ridge I)^-1` over ALL points, the missing ones included, the residual on a missing set M after
training on the rest is `y_M - yhat_M = (P_MM)^-1 (P y)_M`. One factorisation serves every missing set.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int64, Shaped
from torch import Tensor

from symscope.errors import InputError, SingularKernelError
from symscope.numerics import check_ridge

LARGE = 4096  # rows up to which a matrix that has no factor is looked at for the reason
ROUNDINGS = 64  # that sums over many entries may gather


def precision(gram: Float[Tensor, "n n"], ridge: float) -> Float[Tensor, "n n"]:
    """The inverse of the regularised kernel matrix, `P = (K + ridge I)^-1`.

    Args:
        gram: K over all points, symmetric.
        ridge: Absolute, not negative; there is no default because results depend on it.

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
    regular = gram + ridge * torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
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
    return torch.cholesky_inverse(factor)


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
    check_precision(precision)
    labels = real_labels(labels, len(precision), precision)
    check_missing(missing, len(precision))
    weights = (
        precision[missing] @ labels.flatten(1) if labels.ndim > 1 else precision[missing] @ labels[:, None]
    )
    block = precision[missing][:, missing]
    return torch.linalg.solve(block, weights).reshape(len(missing), *labels.shape[1:])


def leave_one_out_residuals(
    precision: Float[Tensor, "n n"], labels: Float[Tensor, "labels *c"]
) -> Float[Tensor, "n *c"]:
    """The residual of every point, each left out alone: `(P y)_i / P_ii`.

    Args:
        precision: P over all points.
        labels: The true labels.

    Raises:
        InputError: A matrix that is not square, or labels that do not match.

    >>> P = precision(torch.tensor([[1.0, 0.5], [0.5, 1.0]], dtype=torch.float64), ridge=0.0)
    >>> leave_one_out_residuals(P, torch.tensor([1.0, -1.0], dtype=torch.float64)).round(decimals=6).tolist()
    [1.5, -1.5]
    """
    check_precision(precision)
    labels = real_labels(labels, len(precision), precision)
    diagonal = precision.diagonal().reshape(-1, *[1] * (labels.ndim - 1))
    return torch.tensordot(precision, labels, 1) / diagonal


def regression(
    gram: Float[Tensor, "n n"], labels: Float[Tensor, "labels *c"], missing: Int64[Tensor, "m"], ridge: float
) -> Float[Tensor, "m *c"]:
    """The prediction on a missing set by solving the regression on the rest, the plain way.

    `yhat_M = K_MT (K_TT + ridge I)^-1 y_T`, T the points that are not missing. The labels of the missing
    points are not looked at.

    Args:
        gram: K over all points.
        labels: Of all points.
        missing: The positions left out.
        ridge: Absolute, not negative.

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


def check_not_negative(matrix: Shaped[Tensor, "n n"], what: str, scale: float = 0.0) -> None:
    """Refuses a matrix without factor that no kernel has: with an eigenvalue clearly below zero.

    Args:
        matrix: Hermitian.
        what: Its name.
        scale: The size of what it was computed from, if that is larger than the matrix: what is small
            beside it is rounding.
    """
    if len(matrix) > LARGE:
        return  # the eigenvalues would take longer than everything else
    values = torch.linalg.eigvalsh(matrix)
    low, high = float(values[0]), max(float(values.abs().max()), scale)
    if low < -(torch.finfo(values.dtype).eps ** 0.5) * high:
        raise InputError(
            f"{what} is not positive semi-definite: it has the eigenvalue {low:.3g} (the largest is "
            f"{float(values[-1]):.3g}), and kernels have none below zero; look at how it was made"
        )


def check_gram(gram: Shaped[Tensor, "*shape"]) -> None:
    """Refuses a matrix that is not a kernel matrix: not square, not finite, not symmetric."""
    check_tensor("a kernel matrix", gram)
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or len(gram) < 1:
        raise InputError(f"a kernel matrix is square, over one point or more; got shape {tuple(gram.shape)}")
    check_real("a kernel matrix", gram)
    if not bool(gram.isfinite().all()):
        raise InputError("the kernel matrix has entries that are not finite; look at the inputs")
    gap, scale = ((gram - gram.T).abs().max().item(), gram.abs().max().item())
    if gap > 1e-6 * scale:
        raise InputError(
            f"a kernel matrix is symmetric; this one differs from its transpose by up to {gap:.3g}"
        )


def check_precision(inverse: Shaped[Tensor, "*shape"]) -> None:
    """Refuses what cannot be the inverse of a kernel matrix: not square, not real."""
    check_tensor("precision", inverse)
    if inverse.ndim != 2 or inverse.shape[0] != inverse.shape[1] or len(inverse) < 1:
        raise InputError(
            "precision: expected the inverse of a kernel matrix, square, over one point or more; got shape "
            f"{tuple(inverse.shape)}"
        )
    check_real("the inverse of a kernel matrix", inverse)


def allowed(relative: float, dtype: torch.dtype) -> float:
    """A relative gap that is rounding: as given, or in single precision so many of its own.

    >>> allowed(1e-9, torch.float64), round(allowed(1e-9, torch.float32), 9)
    (1e-09, 7.629e-06)
    """
    return max(relative, ROUNDINGS * torch.finfo(dtype).eps)


def check_tensor(what: str, x: object) -> None:
    """Refuses lists and arrays of other libraries.

    >>> check_tensor("labels", [1.0, -1.0])
    Traceback (most recent call last):
    ...
    symscope.errors.InputError: labels: expected a torch.Tensor, got list; use torch.as_tensor
    """
    if not isinstance(x, Tensor):
        raise InputError(f"{what}: expected a torch.Tensor, got {type(x).__name__}; use torch.as_tensor")


def check_real(what: str, x: Tensor) -> None:
    """Refuses numbers in which nothing can be factorised: whole, half-precision or complex ones."""
    if x.dtype not in (torch.float64, torch.float32):
        raise InputError(f"{what} is in float64 or float32, got {x.dtype}")


def real_labels(labels: Shaped[Tensor, "*shape"], count: int, like: Tensor) -> Float[Tensor, "labels *c"]:
    """One label per point, in the dtype of a matrix and beside it.

    Raises:
        InputError: Another number of labels, or labels that are not finite real numbers.
    """
    check_tensor("labels", labels)
    if labels.ndim < 1 or len(labels) != count:
        raise InputError(f"expected one label per point, {count}; got shape {tuple(labels.shape)}")
    if labels.is_complex() or not bool(labels.isfinite().all()):
        raise InputError(f"labels must be finite real numbers, got {labels.dtype}")
    return labels.to(like)


def check_missing(missing: Shaped[Tensor, "*shape"], count: int) -> None:
    """Refuses a missing set that is empty, repeats a point, holds every point, or reaches outside."""
    check_tensor("missing", missing)
    if missing.ndim != 1 or missing.dtype.is_floating_point or missing.dtype.is_complex:
        raise InputError(
            f"missing: expected positions, whole numbers in one row; got {missing.dtype} of shape "
            f"{tuple(missing.shape)}"
        )
    if missing.dtype == torch.bool:
        raise InputError("missing: expected positions, got a mask; use mask.nonzero()[:, 0]")
    if len(missing) == 0:
        raise InputError("the missing set is empty: name at least one point to leave out")
    if int(missing.min()) < 0 or int(missing.max()) >= count:
        raise InputError(f"missing points are numbered 0 .. {count - 1}, got {missing.tolist()}")
    if len(missing.unique()) < len(missing):
        raise InputError(f"a missing point is named twice: {missing.tolist()}")
    if len(missing) == count:
        raise InputError(f"all {count} points are missing: nothing is left to learn from")
