"""Kernels for other libraries: scikit-learn and GPyTorch."""

from symscope.kernels.adapters._gpytorch import as_gpytorch
from symscope.kernels.adapters._sklearn import as_sklearn, as_sklearn_process

__all__ = ["as_gpytorch", "as_sklearn", "as_sklearn_process"]
