"""A kernel as a GPyTorch kernel; imported only when GPyTorch is there."""

from __future__ import annotations

import math
from typing import Any, final

import gpytorch
import torch
from torch import Tensor

from symscope.errors import InputError
from symscope.kernels._gram._gram import batched_gram, gram
from symscope.kernels._kernel import Kernel


@final
class GPyTorchKernel(gpytorch.kernels.Kernel):
    """A kernel without free hyper-parameters; `gpytorch.kernels.ScaleKernel` adds a scale.

    Attributes:
        kernel: The kernel.
        input_shape: Shape of one input, or None for vectors.
    """

    has_lengthscale = False

    def __init__(self, kernel: Kernel, input_shape: tuple[int, ...] | None = None) -> None:
        super().__init__()
        self.kernel = kernel
        self.input_shape = input_shape

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        if params.get("last_dim_is_batch"):
            raise InputError("last_dim_is_batch: this kernel is no product over features; use plain batches.")
        same = x1 is x2 or (x1.shape == x2.shape and torch.equal(x1, x2))
        batch = torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
        first, second = self._points(x1, batch), self._points(x2, batch)
        if diag:
            return self._diagonal(first, second, same).reshape(*batch, x1.shape[-2])
        if len(first) == 1:
            matrix = gram(self.kernel, first[0], None if same else second[0], dtype=x1.dtype)
        else:
            matrix = batched_gram(self.kernel, first, None if same else second, dtype=x1.dtype)
        return matrix.reshape(*batch, x1.shape[-2], x2.shape[-2])

    def _diagonal(self, first: Tensor, second: Tensor, same: bool) -> Tensor:
        flat = first.flatten(0, 1)
        if same:
            return self.kernel.diagonal(flat)
        return batched_gram(self.kernel, flat[:, None], second.flatten(0, 1)[:, None], dtype=flat.dtype)

    def _points(self, x: Tensor, batch: torch.Size) -> Tensor:
        """Inputs [b, n, *input_shape] from GPyTorch's [*batch, n, features]."""
        whole = x.expand(*batch, *x.shape[-2:]).reshape(-1, *x.shape[-2:])
        if self.input_shape is None:
            return whole
        if math.prod(self.input_shape) != x.shape[-1]:
            raise InputError(
                f"input_shape: {self.input_shape} has {math.prod(self.input_shape)} numbers, the inputs "
                f"{x.shape[-1]}."
            )
        return whole.unflatten(-1, self.input_shape)
