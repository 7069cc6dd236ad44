"""How operations act on a covariance, `[*lead, *p]` for equal positions, `[*lead, *p, *p']` for all pairs.

A convolution averages the covariance along its diagonals, both positions moving together (Xiao et al. 2018;
the operator A of Novak et al. 2019); pooling averages each position on its own, so it needs all pairs.
Steps that come before any weights act on the data themselves, exactly.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from symscope.kernels.activations._dual import Dual
from symscope.kernels.activations._error_function import ErfDual, GeluDual
from symscope.kernels.activations._exponential import ExpDual, GaussianDual
from symscope.kernels.activations._hermite import QuadratureDual
from symscope.kernels.activations._piecewise_linear import PiecewiseLinearDual
from symscope.kernels.activations._powers import MonomialDual, SignDual
from symscope.kernels.activations._trigonometric import SineDual
from symscope.kernels.infinite._operations import (
    Activate,
    AdaptivePool,
    Affine,
    Conv,
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
from symscope.kernels.infinite._sliding_windows import Window, padded_axes, window_sum
from symscope.kernels.infinite._wide_network import Extent


def position_axes(axes: int, extent: Extent) -> tuple[list[int], list[int]]:
    """The trailing axes of the first and of the second position; the second list is empty for equal
    positions.

    Args:
        axes: Number of axes of positions (2 for images).
        extent: What the covariance holds.

    >>> position_axes(2, Extent.ALL)
    ([-4, -3], [-2, -1])
    """
    if extent is Extent.ALL:
        return list(range(-2 * axes, -axes)), list(range(-axes, 0))
    return list(range(-axes, 0)), []


def restricted_covariance(k: Tensor, axes: int, have: Extent, want: Extent) -> Tensor:
    """A covariance for fewer pairs of positions: equal ones out of all (one position alone is both).

    >>> restricted_covariance(torch.arange(4.0).reshape(2, 2), 1, Extent.ALL, Extent.EQUAL)
    tensor([0., 3.])
    """
    if have == want or axes == 0:
        return k
    if want is Extent.ALL:
        return k.reshape(*k.shape, *[1] * axes)
    positions = k.shape[-axes:]
    return equal_positions(k, axes).reshape(*k.shape[: -2 * axes], *positions)


def equal_positions(k: Tensor, axes: int) -> Tensor:
    """The entries of equal positions of a covariance of all pairs, as a view `[*lead, positions]`."""
    count = math.prod(k.shape[k.ndim - axes :])
    return k.view(*k.shape[: k.ndim - 2 * axes], count, count).diagonal(dim1=-2, dim2=-1)


def first_variances(q: Tensor, axes: int, extent: Extent) -> Tensor:
    """Variances `[*lead, *p]`, ready to broadcast as those of the first position."""
    return q.reshape(*q.shape, *[1] * axes) if extent is Extent.ALL else q


def second_variances(q: Tensor, axes: int, extent: Extent) -> Tensor:
    """Variances `[*lead, *p]`, ready to broadcast as those of the second position."""
    if extent is not Extent.ALL:
        return q
    lead = q.ndim - axes
    return q.reshape(*q.shape[:lead], *[1] * axes, *q.shape[lead:])


def convolved_covariance(k: Tensor, conv: Conv, extent: Extent) -> Tensor:
    """The average over the filter window: both positions move together, along one axis after the other."""
    left, right = position_axes(len(conv.windows), extent)
    for i, window in enumerate(conv.windows):
        k = window_sum(k, [side[i] for side in (left, right) if side], window)
    taps = math.prod(window.size for window in conv.windows)
    return k / taps if k.ndim == 0 or all(w.trivial for w in conv.windows) else k.div_(taps)


def pooled_covariance(k: Tensor, pool: Pool) -> Tensor:
    """Average pooling of a covariance of all pairs: each position has its own window."""
    axes = len(pool.windows)
    positions = k.shape[-axes:]
    for side in position_axes(axes, Extent.ALL):
        for axis, window in zip(side, pool.windows, strict=True):
            k = window_sum(k, [axis], window)
    if pool.divisor is not None:
        return k / pool.divisor**2
    share = covered_positions(pool.windows, tuple(positions)).to(k)
    return k / (first_variances(share, axes, Extent.ALL) * second_variances(share, axes, Extent.ALL))


def covered_positions(windows: tuple[Window, ...], positions: tuple[int, ...]) -> Tensor:
    """How many positions, padding left out, each output of a pooling window covers.

    >>> covered_positions((Window(2, stride=2, before=1, after=1),), (4,))
    tensor([1., 2., 1.])
    """
    count = torch.ones(())
    for window, size in zip(windows, positions, strict=True):
        count = count[..., None] * window_sum(torch.ones(size), [0], window)
    return count


def pad_positions(k: Tensor, pad: Pad, extent: Extent) -> Tensor:
    """Padding of the covariance: zero, or the covariance of the positions that are copied."""
    for side in position_axes(len(pad.before), extent):
        if side:
            k = padded_axes(k, side, pad.before, pad.after, pad.mode)
    return k


def window_patches(x: Tensor, conv: Conv) -> Tensor:
    """The windows of a convolution over data `[*lead, c, *p]`, as vectors: `[*lead, outputs, c * taps]`."""
    axes = len(conv.windows)
    lead = x.ndim - axes - 1
    for i, window in enumerate(conv.windows):
        mode = "circular" if window.circular else "zeros"
        x = padded_axes(x, [lead + 1 + i], [window.before], [window.after], mode)
        reach = window.dilation * (window.size - 1) + 1
        x = x.unfold(lead + 1 + i, reach, window.stride)[..., :: window.dilation]
    x = x.movedim(lead, lead + axes)  # channels behind the positions
    return x.flatten(lead, lead + axes - 1).flatten(lead + 1).contiguous()


def linear_step(operation: Operation, k: Tensor, axes: int, extent: Extent) -> Tensor:
    """Operations that act on covariances and tangent kernels alike."""
    match operation:
        case Flatten():
            return k.mean(list(range(-axes, 0))) if axes else k
        case GlobalPool(keep):
            mean = k.mean(list(range(-2 * axes, 0)))
            return mean.reshape(*mean.shape, *[1] * axes) if keep else mean
        case Pool():
            return pooled_covariance(k, operation) if extent is Extent.ALL else k
        case AdaptivePool():
            return pooled_covariance(k, operation.pool(tuple(k.shape[-axes:])))
        case Pad():
            return pad_positions(k, operation, extent)
        case Scale(factor):
            return k.mul_(factor**2)
    raise TypeError(f"no rule for {operation}")


def extent_left(operation: Operation, need: Extent) -> Extent:
    """What a rule leaves behind, given what it read."""
    return Extent.EQUAL if isinstance(operation, Flatten | GlobalPool) else need


def squared_norm(operation: Normalise, variance: Tensor, axes: int) -> Tensor:
    """The squared norm per channel, `[b, n, *p]`; axes of length one if the norm runs over positions."""
    if operation.over == "all" and axes:
        variance = variance.mean(list(range(-axes, 0)), keepdim=True)
    return variance + operation.eps


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
        case AdaptivePool():
            return data_step(operation.pool(tuple(x.shape[lead + 1 :])), given, lead)
        case GlobalPool(keep):
            return x.mean(axes, keepdim=keep)
        case Normalise(over, eps, _, centred):
            over_axes = [lead] if over == "channels" else [lead, *axes]
            x = x - x.mean(over_axes, keepdim=True) if centred else x
            return x / (x.square().mean(over_axes, keepdim=True) + eps).sqrt()
        case Activate(dual):
            return activation_values(dual, x)
        case Scale(factor):
            return x * factor
        case Affine(factor, shift):
            return x * factor.to(x) + shift.to(x)
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
