"""Any kernel for scikit-learn: a callable for SVC and KernelRidge, a kernel for GaussianProcessRegressor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from symscope.errors import InputError
from symscope.kernels._kernel import Kernel


@final
@dataclass(frozen=True)
class SklearnKernel:
    """A kernel that takes and gives arrays; picklable as long as the kernel is.

    Attributes:
        kernel: The kernel.
        input_shape: Shape of one input, to which the rows of an array are reshaped; None for vectors.
        device: Device that computes Gram matrices.

    >>> from symscope.kernels.classical import linear_kernel
    >>> SklearnKernel(linear_kernel())(np.array([[1.0, 2.0], [0.0, 1.0]]))
    array([[5., 2.],
           [2., 1.]])
    """

    kernel: Kernel
    input_shape: tuple[int, ...] | None = None
    device: str = "cpu"

    def __call__(self, X: Any, Y: Any = None) -> Any:
        """The Gram matrix of the rows of X and Y as a float64 array; for two vectors the one number."""
        if np.ndim(X) == 1:  # how KernelRidge calls a callable: one pair of inputs at a time
            return float(self(np.asarray(X)[None], np.asarray(Y)[None])[0, 0])
        # scikit-learn passes X twice for a training Gram: half of it is enough
        other = None if Y is None or Y is X else self._points(Y)
        return self.kernel(self._points(X), other).cpu().numpy()

    def diagonal(self, X: Any) -> np.ndarray:
        """The entries k(x, x) alone."""
        return self.kernel.diagonal(self._points(X)).detach().cpu().numpy()

    def _points(self, X: Any) -> Tensor:
        try:
            array = np.array(X, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"Expected an array of numbers [n, features]: {error}") from error
        if array.ndim != 2:
            raise InputError(f"Expected an array [n, features], got shape {array.shape}.")
        if not np.isfinite(array).all():
            raise InputError("Expected finite numbers, got NaN or infinity.")
        points = torch.from_numpy(array).to(self.device)
        if self.input_shape is None:
            return points
        if math.prod(self.input_shape) != array.shape[1]:
            raise InputError(
                f"input_shape: {self.input_shape} has {math.prod(self.input_shape)} numbers, the rows "
                f"{array.shape[1]}."
            )
        return points.reshape(-1, *self.input_shape)


def as_sklearn(
    kernel: Kernel, *, input_shape: tuple[int, ...] | None = None, device: str = "cpu"
) -> SklearnKernel:
    """A kernel as a callable for scikit-learn.

    `SVC(kernel=as_sklearn(k))` gets whole Grams. `KernelRidge(kernel=as_sklearn(k))` works too, but
    scikit-learn then asks for one entry at a time: `KernelRidge(kernel="precomputed")` with
    `as_sklearn(k)(X)` is much faster. Needs no
    extra: scikit-learn itself is not imported.

    Args:
        kernel: Any kernel.
        input_shape: Shape of one input, such as (1, 28, 28), for kernels of images; scikit-learn's rows are
            flat.
        device: Device that computes Gram matrices.

    Returns:
        The callable.

    Raises:
        InputError: Later, if arrays do not fit input_shape.

    >>> from sklearn.svm import SVC
    >>> from symscope.kernels.classical import rbf_kernel
    >>> X = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> SVC(kernel=as_sklearn(rbf_kernel(1.0))).fit(X, [0, 0, 1, 1]).predict([[0.5], [4.5]]).tolist()
    [0, 1]
    """
    return SklearnKernel(kernel, input_shape, device)


def as_sklearn_process(
    kernel: Kernel, *, input_shape: tuple[int, ...] | None = None, device: str = "cpu"
) -> Any:
    """A kernel as a Gaussian-process kernel of scikit-learn.

    It has no hyper-parameters of its own; `ConstantKernel() * as_sklearn_process(k) + WhiteKernel()` fits a
    scale and a noise.

    Args:
        kernel: Any kernel.
        input_shape: Shape of one input, to which the rows of arrays are reshaped; None for vectors.
        device: Device that computes Gram matrices.

    Returns:
        A `sklearn.gaussian_process.kernels.Kernel`.

    Raises:
        InputError: If scikit-learn is not installed.

    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from symscope.kernels.classical import linear_kernel
    >>> model = GaussianProcessRegressor(as_sklearn_process(linear_kernel()), alpha=1.0)
    >>> model.fit([[1.0]], [2.0]).predict([[1.0]]).round(12).tolist()
    [1.0]
    """
    try:
        from symscope.kernels.adapters._sklearn_process import SklearnProcessKernel
    except ImportError as error:
        raise InputError(
            f"as_sklearn_process needs scikit-learn: pip install symscope[sklearn] ({error})"
        ) from error
    return SklearnProcessKernel(kernel, input_shape, device)
