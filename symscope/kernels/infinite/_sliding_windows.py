"""Sliding windows along axes of positions: sums, lengths and paddings, without copies of the input."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from symscope.numerics import checked


@checked
@final
@dataclass(frozen=True)
class Window:
    """A window that slides along one axis of positions.

    Attributes:
        size: Number of taps.
        stride: Step between outputs.
        dilation: Step between taps.
        before: Positions padded in front.
        after: Positions padded behind.
        circular: Whether padding wraps around (else it is zero).
    """

    size: int
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0
    circular: bool = False

    def length(self, positions: int) -> int:
        """How many outputs fit; zero or less if the window is larger than the padded axis.

        >>> Window(3, stride=2, before=1, after=1).length(8)
        4
        """
        reach = self.dilation * (self.size - 1) + 1
        return (positions + self.before + self.after - reach) // self.stride + 1

    @property
    def trivial(self) -> bool:
        """Whether it leaves its axis as it is."""
        return self == Window(1, dilation=self.dilation, circular=self.circular)


def segments(window: Window, tap: int, positions: int) -> list[tuple[slice, slice]]:
    """Where one tap reads and writes: pairs (output slice, input slice), one per turn around a circular axis.

    >>> segments(Window(3, before=1, after=1), 0, 5)          # tap 0 of output 0 reads the zero padding
    [(slice(1, 5, None), slice(0, 4, 1))]
    >>> segments(Window(3, before=1, after=1, circular=True), 0, 5)
    [(slice(0, 1, None), slice(4, 5, 1)), (slice(1, 5, None), slice(0, 4, 1))]
    """
    outputs, step = window.length(positions), window.stride
    start = tap * window.dilation - window.before
    turns: Sequence[int] = [0]
    if window.circular:
        turns = range(start // positions, (start + (outputs - 1) * step) // positions + 1)
    result = []
    for turn in turns:
        origin = start - turn * positions
        first = max(0, -(origin // step))  # smallest o with origin + o step >= 0
        last = min(outputs - 1, (positions - 1 - origin) // step)
        if first <= last:
            begin = origin + first * step
            end = origin + last * step + 1
            result.append((slice(first, last + 1), slice(begin, end, step)))
    return result


def window_sum(x: Tensor, axes: Sequence[int], window: Window) -> Tensor:
    """Sum over a window in which all `axes` move together: `out[.. o, o' ..] = sum_t x[.. o s + t d, o' s +
    t d ..]`.

    Args:
        x: Any tensor; never changed. The result may be x itself if the window is trivial.
        axes: Axes of one length; one of them for equal positions, two for the diagonals of pairs of
        positions.
        window: The window.

    Returns:
        The sums; each of `axes` now has `window.length` entries.

    >>> window_sum(torch.arange(5.0), [0], Window(3, before=1, after=1))
    tensor([1., 3., 6., 9., 7.])
    """
    if window.trivial:
        return x
    positions = x.shape[axes[0]]
    outputs = window.length(positions)
    shape = list(x.shape)
    for axis in axes:
        shape[axis] = outputs
    taps = [segments(window, tap, positions) for tap in range(window.size)]
    whole = next((t for t, parts in enumerate(taps) if parts and parts[0][0] == slice(0, outputs)), None)
    if whole is None:
        total = x.new_zeros(shape)
    else:
        total = x[_index(x.ndim, axes, [taps[whole][0][1]] * len(axes))].clone(
            memory_format=torch.contiguous_format
        )
    for tap, parts in enumerate(taps):
        if tap == whole:
            continue
        for chosen in itertools.product(parts, repeat=len(axes)):
            target = total[_index(x.ndim, axes, [out for out, _ in chosen])]
            target += x[_index(x.ndim, axes, [into for _, into in chosen])]
    return total


def padded_axes(
    x: Tensor, axes: Sequence[int], before: Sequence[int], after: Sequence[int], mode: str
) -> Tensor:
    """Pad axes of positions: with zeros, or by copying the position that `mode` names.

    Args:
        x: Any tensor.
        axes: The axes to pad.
        before: Positions in front, one number per axis.
        after: Positions behind, one number per axis.
        mode: "zeros", "circular", "reflect" or "replicate".

    >>> padded_axes(torch.tensor([1.0, 2.0, 3.0]), [0], [1], [2], "circular")
    tensor([3., 1., 2., 3., 1., 2.])
    """
    for axis, front, behind in zip(axes, before, after, strict=True):
        if mode == "zeros":
            shape = list(x.shape)
            shape[axis] += front + behind
            out = x.new_zeros(shape)
            out.narrow(axis, front, x.shape[axis]).copy_(x)
            x = out
        else:
            x = x.index_select(axis, padding_index(x.shape[axis], front, behind, mode).to(x.device))
    return x


def padding_index(positions: int, before: int, after: int, mode: str) -> Tensor:
    """Which position each padded position copies.

    >>> padding_index(3, 2, 1, "reflect").tolist()
    [2, 1, 0, 1, 2, 1]
    """
    index = torch.arange(-before, positions + after)
    if mode == "circular":
        return index % positions
    if mode == "reflect":
        index = index.abs()
        return torch.where(index >= positions, 2 * (positions - 1) - index, index)
    return index.clamp(0, positions - 1)


def _index(ndim: int, axes: Sequence[int], slices: Sequence[slice]) -> tuple[slice, ...]:
    index = [slice(None)] * ndim
    for axis, part in zip(axes, slices, strict=True):
        index[axis] = part
    return tuple(index)
