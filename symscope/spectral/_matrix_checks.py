"""Checks of matrices, labels and missing points, made before anything is factorised."""

from __future__ import annotations

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from symscope.errors import InputError

LARGE = 4096  # rows up to which a matrix that has no factor is looked at for the reason
ROUNDINGS = 64  # that sums over many entries may gather


def check_not_negative(matrix: Shaped[Tensor, "n n"], what: str, scale: float = 0.0) -> None:
    """Refuses a matrix without factor that no kernel has: with an eigenvalue clearly below zero.

    Args:
        matrix: Hermitian.
        what: Name of the matrix in messages.
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


def check_inverse_gram(inverse: Shaped[Tensor, "*shape"]) -> None:
    """Refuses what cannot be the inverse of a kernel matrix: not square, not real."""
    if inverse.ndim != 2 or inverse.shape[0] != inverse.shape[1] or len(inverse) < 1:
        raise InputError(
            "precision: expected the inverse of a kernel matrix, square, over one point or more; got shape "
            f"{tuple(inverse.shape)}"
        )
    check_real("the inverse of a kernel matrix", inverse)


def allowed_gap(relative: float, dtype: torch.dtype) -> float:
    """A relative gap that is rounding: as given, or in single precision so many of its own.

    >>> allowed_gap(1e-9, torch.float64), round(allowed_gap(1e-9, torch.float32), 9)
    (1e-09, 7.629e-06)
    """
    return max(relative, ROUNDINGS * torch.finfo(dtype).eps)


def check_real(what: str, x: Tensor) -> None:
    """Refuses numbers in which nothing can be factorised: whole, half-precision or complex ones."""
    if x.dtype not in (torch.float64, torch.float32):
        raise InputError(f"{what} is in float64 or float32, got {x.dtype}")


def real_labels(labels: Shaped[Tensor, "*shape"], count: int, like: Tensor) -> Float[Tensor, "labels *c"]:
    """One label per point, in the dtype of a matrix and beside it.

    Raises:
        InputError: Another number of labels, or labels that are not finite real numbers.
    """
    if labels.ndim < 1 or len(labels) != count:
        raise InputError(f"expected one label per point, {count}; got shape {tuple(labels.shape)}")
    if labels.is_complex() or not bool(labels.isfinite().all()):
        raise InputError(f"labels must be finite real numbers, got {labels.dtype}")
    return labels.to(like)


def check_missing(missing: Shaped[Tensor, "*shape"], count: int) -> None:
    """Refuses a missing set that is empty, repeats a point, holds every point, or reaches outside."""
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
