"""Second moments of a data set, in one pass over it: all that regression ever needs to know."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.numerics import checked

_PANEL = 512  # columns of X^T X summed at once; the blocks above the diagonal ones are left out


@final
@dataclass(frozen=True, eq=False)
class SecondMoments:
    """`X^T X`, `X^T Y`, and the sum of squares of the labels.

    Attributes:
        xx: `X^T X`.
        xy: `X^T Y`; without its last axis where every label is one number.
        yy: `sum |y|^2`.
        points: Number of samples.
    """

    xx: Float[Tensor, "d d"]
    xy: Float[Tensor, "d *m"]
    yy: float
    points: int


@checked
def second_moments(x: Float[Tensor, "n d"], y: Float[Tensor, "labels *m"]) -> SecondMoments:
    """The second moments of a data set in memory.

    Args:
        x: Features, a row per sample.
        y: Labels, `[n]` or `[n, m]`.

    Raises:
        InputError: As `streamed_moments`.

    >>> second_moments(torch.tensor([[1.0, 2.0]]), torch.tensor([3.0])).xy
    tensor([3., 6.], dtype=torch.float64)
    """
    return streamed_moments([(x, y)], device=x.device)


@checked
def streamed_moments(
    batches: Iterable[tuple[Tensor, Tensor]],
    *,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float64,
) -> SecondMoments:
    """The second moments of a data set that comes in batches and is never held whole.

    Memory is `d^2 + d m` numbers and one batch, whatever the number of samples; the work is about
    `n d (d / 2 + m)` multiplications (the lower half of `X^T X` is its upper one), on the device.

    Args:
        batches: Pairs of features `[b, d]` and labels `[b]` or `[b, m]`, any number of rows each.
        device: Device that sums the moments; batches are moved to it.
        dtype: Precision of the sums.

    Returns:
        The moments.

    Raises:
        InputError: No batch, shapes that differ between batches or within one, numbers that are not finite.

    >>> pieces = [(torch.ones(2, 3), torch.ones(2)), (torch.ones(1, 3), torch.ones(1))]
    >>> streamed_moments(pieces).xx[0], streamed_moments(pieces).points
    (tensor([3., 3., 3.], dtype=torch.float64), 3)
    """
    xx = xy = None
    yy, points = 0.0, 0
    label_shape: tuple[int, ...] = ()
    for batch in batches:
        if not isinstance(batch, tuple | list) or len(batch) != 2:
            raise InputError(f"batches: expected pairs of features and labels, got {type(batch).__name__}.")
        x, y = batch
        _check_batch(x, y)
        x, y = x.to(device, dtype), y.to(device, dtype)
        if xx is None:
            label_shape = tuple(y.shape[1:])
            xx = torch.zeros(x.shape[1], x.shape[1], device=device, dtype=dtype)
            xy = torch.zeros(x.shape[1], label_shape[0] if label_shape else 1, device=device, dtype=dtype)
        if x.shape[1] != len(xx) or tuple(y.shape[1:]) != label_shape:
            raise InputError(
                f"expected every batch with {len(xx)} features and labels of shape {label_shape}, as the "
                f"first has; one has {x.shape[1]} and {tuple(y.shape[1:])}."
            )
        assert xy is not None
        _add_lower(xx, x)
        xy.addmm_(x.mT, y.reshape(len(y), -1))
        yy += float(y.square().sum())
        points += len(x)
    if xx is None or xy is None:
        raise InputError("expected at least one batch of samples, got none.")
    _mirror(xx)
    if not (bool(torch.isfinite(xx).all()) and bool(torch.isfinite(xy).all())):
        raise InputError("expected finite features and labels; some are NaN or infinite, or overflow.")
    return SecondMoments(xx, xy if label_shape else xy[:, 0], yy, points)


def _check_batch(x: Tensor, y: Tensor) -> None:
    if x.ndim != 2 or 0 in x.shape:
        raise InputError(f"expected features as [n, d], got shape {tuple(x.shape)}.")
    if y.ndim not in (1, 2) or len(y) != len(x) or 0 in y.shape:
        raise InputError(f"expected labels as [{len(x)}] or [{len(x)}, m], got shape {tuple(y.shape)}.")


def _add_lower(xx: Tensor, x: Tensor) -> None:
    """Add `X^T X` to the blocks on and below the diagonal."""
    for first in range(0, len(xx), _PANEL):
        panel = slice(first, first + _PANEL)
        xx[first:, panel].addmm_(x[:, first:].mT, x[:, panel])


def _mirror(xx: Tensor) -> None:
    """Copy the blocks below the diagonal to those above."""
    for first in range(0, len(xx), _PANEL):
        end = first + _PANEL
        xx[first:end, end:] = xx[end:, first:end].mT
