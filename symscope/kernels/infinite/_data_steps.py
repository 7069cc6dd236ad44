"""Steps that come before any weights act on the data themselves, exactly."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from symscope.kernels.activations import (
    ErfDual,
    ExpDual,
    GaussianDual,
    GeluDual,
    MonomialDual,
    PiecewiseLinearDual,
    QuadratureDual,
    SignDual,
    SineDual,
)
from symscope.kernels.activations._dual import Dual
from symscope.kernels.infinite._covariance_steps import covered_positions
from symscope.kernels.infinite._operations import (
    Activate,
    Flatten,
    GlobalPool,
    Normalise,
    Operation,
    Pad,
    Pool,
    Scale,
    Sum,
    Unflatten,
)
from symscope.kernels.infinite._sliding_windows import padded_axes, window_sum


def data_step(operation: Operation, given: list[Tensor], lead: int) -> Tensor:
    """What an operation without weights does to data `[*lead, c, *p]`.

    Args:
        operation: The operation.
        given: Its inputs.
        lead: Number of axes in front of the channels.

    Returns:
        Its output.

    >>> data_step(Flatten(), [torch.arange(4.0).reshape(1, 1, 2, 2)], 1)
    tensor([[0., 1., 2., 3.]])
    """
    x = given[0]
    axes = list(range(lead + 1, x.ndim))
    match operation:
        case Flatten():
            return x.flatten(lead)
        case Unflatten(shape):
            return x.reshape(*x.shape[:lead], *shape)
        case Pad(before, after, mode):
            return padded_axes(x, axes, before, after, mode)
        case Pool(windows, divisor):
            positions = tuple(x.shape[lead + 1 :])
            for axis, window in zip(axes, windows, strict=True):
                x = window_sum(x, [axis], window)
            return x / (covered_positions(windows, positions).to(x) if divisor is None else divisor)
        case GlobalPool(keep):
            return x.mean(axes, keepdim=keep)
        case Normalise(over, eps):
            over_axes = [lead] if over == "channels" else [lead, *axes]
            centred = x - x.mean(over_axes, keepdim=True)
            return centred / (centred.square().mean(over_axes, keepdim=True) + eps).sqrt()
        case Activate(dual):
            return activation_values(dual, x)
        case Scale(factor):
            return x * factor
        case Sum():
            return torch.stack(given).sum(0)
    raise TypeError(f"{operation} has weights: it does not act on data alone")


def activation_values(dual: Dual, x: Tensor) -> Tensor:
    """The activation itself, at given numbers.

    >>> activation_values(MonomialDual(2), torch.tensor([3.0]))
    tensor([9.])
    """
    match dual:
        case PiecewiseLinearDual(below, above):
            return below * x.clamp_max(0) + above * x.clamp_min(0)
        case ErfDual(a, b, c):
            return a * torch.erf(b * x) + c
        case GeluDual():
            return x * torch.special.ndtr(x)
        case SineDual(a, b, c):
            return a * torch.sin(b * x + c)
        case ExpDual(a, b):
            return a * torch.exp(b * x)
        case GaussianDual(a, b):
            return a * torch.exp(-b * x**2)
        case MonomialDual(degree):
            return x**degree
        case SignDual():
            return x.sign()
        case QuadratureDual(function):
            return function(x)
    raise TypeError(f"unknown activation {dual}")


def data_covariance(x1: Tensor, x2: Tensor, axes: int, pairs: bool) -> Tensor:
    """Mean over channels of the products of data `[b, n, c, *p]`, every input of x1 with every one of x2.

    Args:
        x1: First inputs.
        x2: Second inputs.
        axes: Number of axes of positions.
        pairs: Whether all pairs of positions are wanted (else equal ones).

    Returns:
        `[b, n1, n2]`, `[b, n1, n2, *p]` or `[b, n1, n2, *p, *p']`.
    """
    channels = x1.shape[2]
    if axes == 0:
        return torch.matmul(x1, x2.mT).div_(channels)
    positions = x1.shape[3:]
    if pairs:
        left, right = x1.flatten(3).mT[:, :, None], x2.flatten(3)[:, None]
        return torch.matmul(left, right).div_(channels).unflatten(-1, positions).unflatten(3, positions)
    total = x1[:, :, None, 0] * x2[:, None, :, 0]
    for channel in range(1, channels):
        total.addcmul_(x1[:, :, None, channel], x2[:, None, :, channel])
    return total.div_(channels) if channels > 1 else total


def patch_covariance(u1: Tensor, u2: Tensor, positions: tuple[int, ...]) -> Tensor:
    """Mean products of patches `[b, n, outputs, taps]`: the first convolution for all pairs, as one product.

    Returns:
        `[b, n1, n2, *positions, *positions]`.
    """
    product = torch.matmul(u1[:, :, None], u2[:, None].mT).div_(u1.shape[-1])
    assert product.shape[-1] == math.prod(positions)
    return product.unflatten(-1, positions).unflatten(3, positions)


def own_covariance(x: Tensor, axes: int, pairs: bool) -> Tensor:
    """The same of each input `[b, n, c, *p]` with itself: `[b, n, *p]` or `[b, n, *p, *p']`."""
    if not pairs or axes == 0:
        return x.square().mean(2)
    flat = x.flatten(3)
    product = torch.matmul(flat.mT, flat).div_(x.shape[2])
    return product.unflatten(-1, x.shape[3:]).unflatten(2, x.shape[3:])
