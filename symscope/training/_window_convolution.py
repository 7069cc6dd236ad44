"""Convolutions of one-channel images as one product with all windows of the image.

A GPU's convolution routines are made for many channels: for Fig. 1's first layer (1 to 24, 5x5) the
gradient of its 600 weights alone takes two thirds of a training step; as a matrix product, a tenth of one.
"""

from __future__ import annotations

import copy
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn


@final
class WindowConvolution(nn.Module):
    """The map of a convolution of one channel, by windows: same weights, same output to rounding.

    >>> layer = nn.Conv2d(1, 3, (2, 3), padding=1)
    >>> x = torch.arange(20.0).reshape(1, 1, 4, 5)
    >>> torch.allclose(WindowConvolution(layer)(x), layer(x), atol=1e-5)
    True
    """

    def __init__(self, layer: nn.Conv2d) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias
        self.padding = (int(layer.padding[1]),) * 2 + (int(layer.padding[0]),) * 2  # columns come first

    def forward(self, x: Float[Tensor, "*b 1 h w"]) -> Float[Tensor, "*b c u v"]:
        rows, columns = self.weight.shape[-2:]
        image = nn.functional.pad(x.squeeze(-3), self.padding)
        windows = image.unfold(-2, rows, 1).unfold(-2, columns, 1).flatten(-2)
        maps = self.weight.flatten(1)
        # products whose inner length is a multiple of 8 run on the wide tensor-core path
        spare = (0, -maps.shape[-1] % 8)
        product = nn.functional.linear(
            nn.functional.pad(windows, spare), nn.functional.pad(maps, spare), self.bias
        )
        return product.movedim(-1, -3)


def with_window_convolutions(module: nn.Module) -> nn.Module:
    """A copy of the module with every plain convolution of one channel replaced; names of weights stay.

    Args:
        module: Any module. Strided, dilated, padded by a name or not by zeros: such layers stay as they are.

    >>> with_window_convolutions(nn.Sequential(nn.Conv2d(1, 2, 3), nn.Conv2d(2, 2, 3)))
    Sequential(
      (0): WindowConvolution()
      (1): Conv2d(2, 2, kernel_size=(3, 3), stride=(1, 1))
    )
    """
    if _replaceable(module):
        return WindowConvolution(module)  # type: ignore[arg-type]
    module = copy.deepcopy(module)
    for name, child in list(module.named_modules()):
        if name and _replaceable(child):
            parent, _, last = name.rpartition(".")
            setattr(module.get_submodule(parent), last, WindowConvolution(child))
    return module


def _replaceable(layer: nn.Module) -> bool:
    """Hooks would be lost, so a layer with hooks stays."""
    return (
        type(layer) is nn.Conv2d
        and layer.in_channels == 1
        and layer.stride == layer.dilation == (1, 1)
        and layer.padding_mode == "zeros"
        and not isinstance(layer.padding, str)
        and not layer._forward_hooks
        and not layer._forward_pre_hooks
        and not torch.nn.utils.parametrize.is_parametrized(layer)
    )
