"""The paper's networks of infinite width: fully connected, or convolutional with dense or pooled read-out."""

from __future__ import annotations

from functools import partial

from jaxtyping import Float
from torch import Tensor, nn

from symscope.errors import InputError
from symscope.kernels import Kernel, infinite_width
from symscope.kernels.infinite import InfiniteWidth
from symscope.numerics import check_count

SIDE = 28
MLPS = ("mlp-1", "mlp-2", "mlp-3")
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


def pooled_apart(filter: int, side: int = SIDE, limit: str = "ntk") -> Kernel:
    """The kernel of `conv_module("gap-apart", filter, side)` from its windows: the same kernel, far quicker.

    Windows that do not overlap share no pixel but at the seam, so each is an input of a fully connected
    network of its own: the pooled kernel is the mean of that network's kernel over all pairs of windows.

    Args:
        filter: Odd side of the filter.
        side: Side of the images.
        limit: "ntk" or "nngp".

    >>> import torch
    >>> x = torch.arange(72.0, dtype=torch.float64).reshape(2, 1, 6, 6).sin()
    >>> plain = conv_kernels("gap-apart", 3, 6).ntk(x, x.flip(-1))
    >>> bool(torch.allclose(pooled_apart(3, 6)(x, x.flip(-1)), plain, rtol=1e-12))
    True
    """
    check_filter("gap-apart", filter, side)
    dense = nn.Sequential(nn.Linear(filter**2, 1, bias=False), nn.ReLU(), nn.Linear(1, 1, bias=False))
    wide = infinite_width(dense, w_std=1.0, b_std=0.0)
    inner = {"ntk": wide.ntk, "nngp": wide.nngp}[limit]
    count = (-(-side // filter)) ** 2
    return Kernel(
        f"{inner.name}, mean over windows",
        partial(_window_blocks, inner, filter),
        partial(_window_diagonal, inner, filter),
        lambda shape, dtype: count**2 * (inner.entry_bytes((filter**2,), dtype) + dtype.itemsize),
    )


def windows_apart(x: Float[Tensor, "*b 1 h w"], filter: int) -> Float[Tensor, "*b windows pixels"]:
    """All windows of a filter that moves by its own size over the image, padded circularly on both sides.

    >>> import torch
    >>> windows_apart(torch.arange(16.0).reshape(1, 4, 4), 2)[0].tolist()
    [0.0, 1.0, 4.0, 5.0]
    """
    width = -x.shape[-1] % filter // 2
    flat = nn.functional.pad(x.flatten(0, -4) if x.ndim > 3 else x[None], (width,) * 4, mode="circular")
    cut = flat.squeeze(-3).unfold(-2, filter, filter).unfold(-2, filter, filter)
    return cut.flatten(-2).flatten(-3, -2).reshape(*x.shape[:-3], -1, filter**2)


def _window_blocks(inner: Kernel, filter: int, x1: Tensor, x2: Tensor | None) -> Tensor:
    first = windows_apart(x1, filter)
    second = first if x2 is None else windows_apart(x2, filter)
    count = first.shape[-2]
    # never "against itself": all entries then come from one formula, to the last bit
    entries = inner.blocks(first.flatten(1, 2), second.flatten(1, 2).clone())
    return entries.unflatten(2, (-1, count)).mean(-1).unflatten(1, (-1, count)).mean(-2)


def _window_diagonal(inner: Kernel, filter: int, x: Tensor) -> Tensor:
    return _window_blocks(inner, filter, x[:, None], None)[:, 0, 0]


def check_filter(readout: str, filter: int, side: int = SIDE) -> None:
    """Refuses read-outs and filters that `conv_module` cannot take.

    Raises:
        InputError: An unknown read-out, or a filter that does not fit.
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


def mlp_kernels(hidden: int) -> InfiniteWidth:
    """The kernels of a ReLU network on 28 x 28 images with w_std = b_std = 1 (App. B.2).

    Args:
        hidden: Number of hidden layers; 1 or 5 in the paper.

    Raises:
        InputError: Less than one.

    >>> import torch
    >>> mlp_kernels(1).ntk(torch.zeros(1, 784, dtype=torch.float64)).item()
    2.0
    """
    check_count("hidden", hidden)
    wide: list[nn.Module] = [nn.Linear(784, 2), nn.ReLU()]  # any width: only the limit is looked at
    for _ in range(hidden - 1):
        wide += [nn.Linear(2, 2), nn.ReLU()]
    return infinite_width(nn.Sequential(*wide, nn.Linear(2, 1)), w_std=1.0, b_std=1.0)


def section_kernels(network: str) -> InfiniteWidth:
    """The kernels of Sec. 3.4: of the network in App. B.3, or of an MLP.

    App. B.3's network has hidden layers 512, 128 and 10, the last without bias, and one output; its dropout
    is off.

    Args:
        network: "app-b3", or "mlp-1", "mlp-2" .. for so many hidden layers.

    Raises:
        InputError: An unknown network.

    >>> import torch
    >>> section_kernels("app-b3").ntk(torch.zeros(1, 784, dtype=torch.float64)).item()
    2.25
    """
    if network in MLPS:
        return mlp_kernels(1 + MLPS.index(network))
    if network != "app-b3":
        raise InputError(f"network: expected app-b3 or one of {', '.join(MLPS)}; got {network!r}")
    layers = [
        nn.Linear(784, 2),
        nn.ReLU(),
        nn.Linear(2, 2),
        nn.ReLU(),
        nn.Linear(2, 2, bias=False),
        nn.ReLU(),
    ]
    return infinite_width(nn.Sequential(*layers, nn.Linear(2, 1)), w_std=1.0, b_std=1.0)
