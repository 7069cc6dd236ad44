"""The checks every Gram goes through, in one place: what may come in, and how it is computed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from symscope.errors import InputError

_UNITS = {
    "": 1,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "KI": 2**10,
    "MI": 2**20,
    "GI": 2**30,
    "TI": 2**40,
}


def byte_count(memory: int | float | str) -> int:
    """A number of bytes, given as a number or as text with a unit.

    Args:
        memory: Bytes, or text such as "512MB" (powers of 1000) or "2 GiB" (powers of 1024).

    Returns:
        The number of bytes.

    Raises:
        InputError: It is not a positive amount of memory.

    >>> byte_count("2GB"), byte_count("1.5 MiB"), byte_count(4096)
    (2000000000, 1572864, 4096)
    """
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?)?B?\s*", memory.upper())
        if match is None:
            raise InputError(f'memory: expected bytes or text such as "2GB" or "512MiB", got {memory!r}.')
        number = float(match[1]) * _UNITS[match[2] or ""]
    else:
        number = float(memory)
    if not 1 <= number < float("inf"):
        raise InputError(f"memory: expected a positive number of bytes, got {memory!r}.")
    return int(number)


def byte_text(count: int | float) -> str:
    """Bytes as a person reads them; rounded up, so that the text is never too small a budget.

    >>> byte_text(1), byte_text(1_234_567), byte_text(2e9)
    ('1 B', '1.24 MB', '2 GB')
    """
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{-(-count * 100 // scale) / 100:g} {unit}"
    return f"{count:.0f} B"


@final
@dataclass(frozen=True)
class Arithmetic:
    """Where and how precisely tiles are computed.

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


def usable_device(device: torch.device | str | None, like: Tensor) -> torch.device:
    """Where to compute: as asked, or where a tensor is.

    Raises:
        InputError: There is no such device here.

    >>> usable_device(None, torch.ones(1)).type
    'cpu'
    """
    try:
        where = like.device if device is None else torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise InputError(f'device: expected "cpu", "cuda" or a torch.device, got {device!r}.') from error
    if where.type == "cuda" and not torch.cuda.is_available():
        raise InputError('device: "cuda" was asked for, but torch sees no CUDA device; use device="cpu".')
    if where.type == "cuda" and (where.index or 0) >= torch.cuda.device_count():
        raise InputError(f"device: torch sees {torch.cuda.device_count()} CUDA devices, got {where}.")
    return where


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


def check_points(name: str, x: Tensor, leading: int = 1) -> None:
    """Raise unless `x` holds points a kernel can take: floating, finite, not empty, with feature axes.

    Raises:
        InputError: Says which of these does not hold.

    >>> check_points("x1", torch.tensor([[1, 2]]))
    Traceback (most recent call last):
        ...
    symscope.errors.InputError: x1: expected floating-point numbers, got torch.int64; use x1.double().
    """
    _check_form(name, x, leading)
    _check_finite(name, x)


def _check_form(name: str, x: Tensor, leading: int) -> None:
    axes = "[n, *s]" if leading == 1 else "[b, n, *s]"
    if not isinstance(x, Tensor):
        raise InputError(
            f"{name}: expected a torch.Tensor {axes}, got {type(x).__name__}; use torch.as_tensor."
        )
    if not x.is_floating_point():
        raise InputError(f"{name}: expected floating-point numbers, got {x.dtype}; use {name}.double().")
    if x.ndim <= leading:
        raise InputError(
            f"{name}: expected shape {axes} with at least one axis of features, got {tuple(x.shape)}; "
            f"for numbers use {name}[..., None]."
        )
    if x.numel() == 0:
        raise InputError(
            f"{name}: expected at least one point with at least one feature, got {tuple(x.shape)}."
        )


def _check_finite(name: str, x: Tensor) -> None:
    # the sum is finite whenever all is finite and small: one pass, and no mask the size of x
    if not torch.isfinite(x.detach().sum()) and not torch.isfinite(x.detach()).all():
        bad = (~torch.isfinite(x.detach())).nonzero()[0].tolist()
        raise InputError(
            f"{name}: expected finite numbers, got NaN or infinity, first at {bad}; remove such points."
        )


def check_inputs(x1: Tensor, x2: Tensor | None, leading: int = 1) -> None:
    """Raise unless both are good points of one kind: same dtype, device, feature shape and batch.

    Raises:
        InputError: Says what differs, or what is wrong with one of them.

    >>> check_inputs(torch.zeros(2, 3), torch.zeros(2, 4))
    Traceback (most recent call last):
        ...
    symscope.errors.InputError: x1 and x2: expected points of one shape, got (3,) and (4,).
    """
    _check_form("x1", x1, leading)
    if x2 is not None:
        _check_form("x2", x2, leading)
        _check_alike(x1, x2, leading)
        _check_finite("x2", x2)
    _check_finite("x1", x1)


def _check_alike(x1: Tensor, x2: Tensor, leading: int) -> None:
    if x1.dtype != x2.dtype:
        raise InputError(
            f"x1 and x2: expected one dtype, got {x1.dtype} and {x2.dtype}; convert one of them."
        )
    if x1.device != x2.device:
        raise InputError(
            f"x1 and x2: expected one device, got {x1.device} and {x2.device}; move one of them."
        )
    if x1.shape[leading:] != x2.shape[leading:]:
        shapes = f"{tuple(x1.shape[leading:])} and {tuple(x2.shape[leading:])}"
        raise InputError(f"x1 and x2: expected points of one shape, got {shapes}.")
    if leading == 2 and len(x1) != len(x2):
        raise InputError(f"x1 and x2: expected the same number of batches, got {len(x1)} and {len(x2)}.")
