"""A kernel as a Gaussian-process kernel of scikit-learn; imported only when scikit-learn is there."""

from __future__ import annotations

from typing import Any, final

import numpy as np
from sklearn.gaussian_process.kernels import Kernel as ProcessKernel

from symscope.kernels._kernel import Kernel
from symscope.kernels.adapters._sklearn import SklearnKernel


@final
class SklearnProcessKernel(ProcessKernel):
    """A kernel without free hyper-parameters; sums and products with scikit-learn's own kernels work.

    Attributes:
        kernel: The kernel.
        input_shape: Shape of one input, or None for vectors.
        device: Device that computes Gram matrices.
    """

    def __init__(
        self, kernel: Kernel, input_shape: tuple[int, ...] | None = None, device: str = "cpu"
    ) -> None:
        self.kernel = kernel
        self.input_shape = input_shape
        self.device = device

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        matrix = self._callable()(np.atleast_2d(X), None if Y is None else np.atleast_2d(Y))
        # an empty last axis: there is nothing to differentiate by
        return (matrix, np.empty((*matrix.shape, 0))) if eval_gradient else matrix

    def diag(self, X: Any) -> np.ndarray:
        return self._callable().diagonal(np.atleast_2d(X))

    def is_stationary(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"SklearnProcessKernel({self.kernel.name})"

    def _callable(self) -> SklearnKernel:
        return SklearnKernel(self.kernel, self.input_shape, self.device)
