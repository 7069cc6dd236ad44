"""On which device and how precisely something is computed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from symscope.errors import InputError
from symscope.numerics import usable_device


@final
@dataclass(frozen=True)
class Arithmetic:
    """Device and precision of the tiles of a Gram matrix.

    Attributes:
        device: The device of the tiles.
        dtype: The dtype of inputs and results.
        tf32: Whether float32 products may be rounded to TF32 (10 bits of mantissa) on CUDA.
    """

    device: torch.device
    dtype: torch.dtype
    tf32: bool = False

    @contextmanager
    def precision(self) -> Iterator[None]:
        """TF32 on or off as asked, whatever the process has set, and back again afterwards."""
        matmul, conv = torch.backends.cuda.matmul, torch.backends.cudnn.conv  # type: ignore[attr-defined]
        if self.device.type != "cuda":
            yield
            return
        before = matmul.fp32_precision, conv.fp32_precision
        matmul.fp32_precision = conv.fp32_precision = "tf32" if self.tf32 else "ieee"
        try:
            yield
        finally:
            matmul.fp32_precision, conv.fp32_precision = before


def arithmetic(x: Tensor, device: torch.device | str | None, dtype: torch.dtype | str | None) -> Arithmetic:
    """The arithmetic a caller asked for; on the input's device and in float64 where nothing was said.

    Raises:
        InputError: The dtype or the device cannot be used.

    >>> arithmetic(torch.zeros(2, 3), None, None)
    Arithmetic(device=device(type='cpu'), dtype=torch.float64, tf32=False)
    """
    where = usable_device(device, x)
    if dtype == "tf32":
        if where.type != "cuda":
            raise InputError(f'dtype: "tf32" exists on CUDA only, the device is {where}; use torch.float32.')
        return Arithmetic(where, torch.float32, tf32=True)
    if dtype is None:
        return Arithmetic(where, torch.float64)
    if dtype not in (torch.float64, torch.float32):
        raise InputError(f'dtype: expected torch.float64, torch.float32 or "tf32", got {dtype!r}.')
    return Arithmetic(where, dtype)
