"""The paper's convolutional networks: one circular layer, then a dense read-out or global pooling."""

from __future__ import annotations

from torch import nn

from symscope.errors import InputError
from symscope.kernels import InfiniteWidth, infinite_width

SIDE = 28
READOUTS = {"fc": "dense read-out", "gap": "global pooling", "gap-apart": "global pooling, filters apart"}


def conv_module(readout: str, filter: int, side: int = SIDE) -> nn.Module:
    """One circular convolution and ReLU (Eqs. 17 and 18), without biases.

    Args:
        readout: "fc" flattens and reads out every position; "gap" averages over positions first; "gap-apart"
            does so with filters that do not overlap: the stride is the filter's size, and circular padding
            fills up to a multiple of it, the same on both sides.
        filter: Odd side of the filter.
        side: Side of the images.

    Raises:
        InputError: An unknown read-out, or a filter that does not fit.

    >>> [layer.__class__.__name__ for layer in conv_module("gap", 3).children()]
    ['Conv2d', 'ReLU', 'AdaptiveAvgPool2d', 'Flatten', 'Linear']
    """
    check_filter(readout, filter, side)
    apart = readout == "gap-apart"
    conv = nn.Conv2d(
        1,
        1,
        filter,
        stride=filter if apart else 1,
        padding=-side % filter // 2 if apart else filter // 2,
        padding_mode="circular",
        bias=False,
    )
    if readout == "fc":
        return nn.Sequential(conv, nn.ReLU(), nn.Flatten(), nn.Linear(side**2, 1, bias=False))
    pooled = nn.AdaptiveAvgPool2d(1)
    return nn.Sequential(conv, nn.ReLU(), pooled, nn.Flatten(), nn.Linear(1, 1, bias=False))


def conv_kernels(readout: str, filter: int, side: int = SIDE) -> InfiniteWidth:
    """NNGP and NTK of that network with infinitely many filters, `w_std = 1`; inputs are `[n, 1, h, w]`.

    >>> import torch
    >>> image = torch.zeros(1, 1, 28, 28, dtype=torch.float64)
    >>> image[0, 0, 3, 5] = 1.0
    >>> round(float(conv_kernels("fc", 3).nngp(image)) * 2 * 784, 6)  # 9 windows of 1/9 each see the pixel
    1.0
    """
    return infinite_width(conv_module(readout, filter, side), w_std=1.0, b_std=0.0)


def check_filter(readout: str, filter: int, side: int = SIDE) -> None:
    """Refuses read-outs and filters that `conv_module` cannot take.

    Raises:
        InputError: What it says.
    """
    if readout not in READOUTS:
        raise InputError(f"read-out: expected one of {', '.join(READOUTS)}; got {readout!r}")
    if filter < 1 or filter % 2 == 0 or filter > side:
        raise InputError(f"filter: expected an odd side from 1 to {side}, got {filter}")
    if readout == "gap-apart" and -side % filter % 2:
        raise InputError(
            f"filters of side {filter} that do not overlap cannot be padded evenly on images of side {side}; "
            "choose 3, 5 or 7"
        )
