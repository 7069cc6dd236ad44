"""Checks of inputs: points that can be computed with, and two sets of points of one kind."""

from __future__ import annotations

import torch
from torch import Tensor

from symscope.errors import InputError


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
