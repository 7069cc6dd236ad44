"""Any kernel for GPyTorch."""

from __future__ import annotations

from typing import Any

from symscope.errors import InputError
from symscope.kernels._kernel import Kernel


def as_gpytorch(kernel: Kernel, *, input_shape: tuple[int, ...] | None = None) -> Any:
    """A kernel as a GPyTorch kernel, to be used in any of its models.

    It has no hyper-parameters of its own: `gpytorch.kernels.ScaleKernel(as_gpytorch(k))` adds a scale. It
    computes in the dtype of its inputs (use float64), in tiles, and lets gradients through to inputs where
    the kernel does.

    Args:
        kernel: Any kernel.
        input_shape: Shape of one input, such as (1, 28, 28), for kernels of images; GPyTorch's inputs are
            vectors.

    Returns:
        A `gpytorch.kernels.Kernel`.

    Raises:
        InputError: If GPyTorch is not installed.

    >>> import torch
    >>> from symscope.kernels.classical import linear_kernel
    >>> x = torch.tensor([[1.0, 2.0], [0.0, 1.0]], dtype=torch.float64)
    >>> as_gpytorch(linear_kernel())(x).to_dense().tolist()
    [[5.0, 2.0], [2.0, 1.0]]
    """
    try:
        from symscope.kernels.adapters._gpytorch_module import GPyTorchKernel
    except ImportError as error:
        raise InputError(f"as_gpytorch needs GPyTorch: pip install symscope[gpytorch] ({error})") from error
    return GPyTorchKernel(kernel, input_shape)
