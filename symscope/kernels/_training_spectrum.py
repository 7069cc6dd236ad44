"""The eigendecomposition behind every closed-form prediction, with its null space treated exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError, SingularKernelError
from symscope.numerics import check_ridge


@final
@dataclass(frozen=True)
class TrainingSpectrum:
    """The eigendecomposition of a training kernel matrix, its null space known.

    Attributes:
        values: Eigenvalues in ascending order, those of the null space exactly zero.
        vectors: Eigenvectors, a column each.
        null: Dimension of the null space; its eigenvalues come first.
    """

    values: Float[Tensor, " n"]
    vectors: Float[Tensor, "n n"]
    null: int

    def read_out(self, k_test_train: Float[Tensor, "m n"]) -> Float[Tensor, "m n"]:
        """k(x, X) in the eigenbasis; zero on the null space, where it is zero in exact arithmetic."""
        projected = k_test_train @ self.vectors
        return torch.cat([torch.zeros_like(projected[:, : self.null]), projected[:, self.null :]], dim=1)

    def filtered(self, learned: Float[Tensor, " n"], ridge: float) -> Float[Tensor, " n"]:
        """`learned / (l + ridge)`; zero on the null space, of which nothing is read out."""
        stiffness = self.values + ridge
        positive = stiffness > 0
        return torch.where(positive, learned / torch.where(positive, stiffness, 1.0), 0.0)


def training_spectrum(
    k_train_train: Tensor,
    k_test_train: Tensor,
    y: Tensor,
    ridge: float,
    rank_tolerance: float | None,
    ridge_name: str = "ridge",
) -> TrainingSpectrum:
    """The eigendecomposition of K, after checking that everything fits.

    Args:
        k_train_train: K.
        k_test_train: k(x, X).
        y: Targets [n, c].
        ridge: Ridge of at least 0.
        rank_tolerance: Eigenvalues below this fraction of the largest are null; None for n rounding units.
        ridge_name: Name of the ridge in messages.

    Returns:
        The spectrum.

    Raises:
        InputError: If shapes, dtypes or numbers do not fit, K is not symmetric or has a negative eigenvalue,
            or k_test_train does not vanish where K does.
    """
    if y.ndim != 2 or len(y) == 0 or not y.is_floating_point():
        raise InputError(
            f"y: expected floating targets [n, c], got {tuple(y.shape)} of {y.dtype}; y[:, None]?"
        )
    n = len(y)
    check_matrix("y", y, (n, y.shape[1]), y)
    check_matrix("k_train_train", k_train_train, (n, n), y)
    check_matrix("k_test_train", k_test_train, (k_test_train.shape[0], n), y)
    check_ridge(ridge, ridge_name)
    epsilon = torch.finfo(y.dtype).eps
    tolerance = n * epsilon if rank_tolerance is None else rank_tolerance
    if not 0 <= tolerance < 1:
        raise InputError(f"rank_tolerance: expected a fraction from 0 to 1, got {rank_tolerance}.")
    size = k_train_train.abs().max()
    if (k_train_train - k_train_train.mT).abs().max() > max(100 * epsilon, tolerance) * size:
        raise InputError("k_train_train: expected a symmetric matrix; check that rows and columns agree.")
    values, vectors = torch.linalg.eigh((k_train_train + k_train_train.mT) / 2)
    largest = values.abs().max()
    if values[0] < -10 * max(tolerance, n * epsilon) * largest:
        raise InputError(
            f"k_train_train: expected a positive semi-definite matrix, its smallest eigenvalue is "
            f"{values[0]:.3g} "
            f"beside {largest:.3g}; raise rank_tolerance if that is the accuracy of the kernel."
        )
    null = int((values <= tolerance * largest).sum())
    values = torch.where(torch.arange(n, device=values.device) < null, 0.0, values)
    leak = torch.linalg.matrix_norm(k_test_train @ vectors[:, :null]) if null else size.new_zeros(())
    # a true block obeys |k(x, X) v|^2 <= k(x, x) v^T K v, which here is rounding
    if leak > 100 * max(tolerance, epsilon) ** 0.5 * torch.linalg.matrix_norm(k_test_train):
        raise InputError(
            "k_test_train: it does not vanish on the null space of k_train_train, so the two are not blocks "
            "of one "
            "positive semi-definite kernel; compute both with the same kernel and dtype."
        )
    return TrainingSpectrum(values, vectors, null)


def check_singular(spectrum: TrainingSpectrum, ridge: float, singular: str) -> None:
    if singular not in ("error", "pseudo_inverse"):
        raise InputError(f'singular: expected "error" or "pseudo_inverse", got {singular!r}.')
    if spectrum.null and ridge == 0 and singular == "error":
        n = len(spectrum.values)
        raise SingularKernelError(
            f"k_train_train has rank {n - spectrum.null} of {n}: without a ridge, infinite time leaves part "
            'of the targets unlearned. Remove duplicates, give a ridge, or ask for singular="pseudo_inverse".'
        )


def check_matrix(name: str, matrix: Tensor, shape: tuple[int, int], y: Tensor) -> None:
    if tuple(matrix.shape) != shape:
        raise InputError(f"{name}: expected shape {shape} for y {tuple(y.shape)}, got {tuple(matrix.shape)}.")
    if matrix.dtype != y.dtype or matrix.device != y.device:
        raise InputError(
            f"{name}: expected {y.dtype} on {y.device} like y, got {matrix.dtype} on {matrix.device}."
        )
    if not torch.isfinite(matrix).all():
        raise InputError(f"{name}: expected finite numbers, got NaN or infinity.")
