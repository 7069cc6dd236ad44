"""A small vision transformer: patches, fixed positions, attention, mean over patches, one linear map."""

from __future__ import annotations

from typing import final

import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn

from symscope.errors import InputError
from symscope.networks._attention import attention
from symscope.numerics import check_count, check_memory


def patches(x: Float[Tensor, "b c h w"], side: int) -> Float[Tensor, "b patches pixels"]:
    """Square pieces of the images, row after row, each flattened row by row with its channels last.

    Raises:
        InputError: The side does not divide the image.

    >>> patches(torch.arange(8.0).reshape(1, 1, 2, 4), 2).tolist()
    [[[0.0, 1.0, 4.0, 5.0], [2.0, 3.0, 6.0, 7.0]]]
    """
    b, c, h, w = x.shape
    if h % side or w % side:
        raise InputError(f"expected images whose sides are multiples of the patch, {side}, got {h} x {w}.")
    pieces = x.reshape(b, c, h // side, side, w // side, side).permute(0, 2, 4, 3, 5, 1)
    return pieces.reshape(b, (h // side) * (w // side), side * side * c)


def grid_positions(rows: int, columns: int, dim: int) -> Float64[Tensor, "patches dim"]:
    """A code of each place of a grid: sines and cosines of column and row at dim/4 falling frequencies.

    `[sin(w_i x), cos(w_i x), sin(w_i y), cos(w_i y)]`, `w_i = 10000^(-i / (dim/4 - 1))`.

    Raises:
        InputError: dim is not a multiple of 4, or below 8.

    >>> grid_positions(1, 2, 8).shape
    torch.Size([2, 8])
    """
    if dim % 4 or dim < 8:
        raise InputError(f"expected a dimension that is a multiple of 4, 8 or more, got {dim}.")
    count = dim // 4
    frequency = 10000.0 ** (-torch.arange(count, dtype=torch.float64) / (count - 1))
    y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    along = [place.reshape(-1, 1).double() * frequency for place in (x, y)]
    return torch.cat([wave(angle) for angle in along for wave in (torch.sin, torch.cos)], dim=1)


@final
class Attention(nn.Module):
    """Softmax attention of several heads after a layer norm; maps without biases."""

    def __init__(self, dim: int, heads: int, head_dim: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(dim)
        self.queries_keys_values = nn.Linear(dim, 3 * heads * head_dim, bias=False)
        self.out = nn.Linear(heads * head_dim, dim, bias=False)

    def forward(self, x: Float[Tensor, "b t dim"]) -> Float[Tensor, "b t dim"]:
        qkv = self.queries_keys_values(self.norm(x)).unflatten(-1, (3, self.heads, -1))
        return self.out(attention(qkv).flatten(-2))


@final
class VisionTransformer(nn.Module):
    """Images `[b, c, h, h]` to logits `[b, classes]`; make one with `symscope.networks.architectures.vit`."""

    positions: Tensor

    def __init__(
        self,
        side: int,
        patch: int,
        channels: int,
        dim: int,
        depth: int,
        heads: int,
        hidden: int,
        classes: int,
    ) -> None:
        super().__init__()
        sizes = {"side": side, "patch": patch, "channels": channels, "dim": dim, "depth": depth}
        for name, size in (sizes | {"heads": heads, "hidden": hidden, "classes": classes}).items():
            check_count(name, size)
        weights = patch**2 * channels + (side // patch) ** 2 + depth * (256 * heads + 2 * hidden) + classes
        check_memory("the transformer", 4 * dim * weights, "use smaller sizes")
        self.patch = patch
        pixels = patch * patch * channels
        self.embedding = nn.Sequential(nn.LayerNorm(pixels), nn.Linear(pixels, dim), nn.LayerNorm(dim))
        self.register_buffer("positions", grid_positions(side // patch, side // patch, dim), persistent=False)
        self.attentions = nn.ModuleList([Attention(dim, heads, 64) for _ in range(depth)])
        self.layers = nn.ModuleList(
            [
                nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim))
                for _ in range(depth)
            ]
        )
        self.norm = nn.LayerNorm(dim)
        self.readout = nn.Linear(dim, classes)

    def forward(self, x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b classes"]:
        tokens = self.embedding(patches(x, self.patch))
        tokens = tokens + self.positions.to(tokens.dtype)
        for mixing, layer in zip(self.attentions, self.layers, strict=True):
            tokens = tokens + mixing(tokens)
            tokens = tokens + layer(tokens)
        return self.readout(self.norm(tokens).mean(1))
