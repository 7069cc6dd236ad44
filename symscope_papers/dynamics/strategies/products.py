"""Matrix products on a GPU's half-precision units, for drifts of 1e-7 beside steps of 1e-3.

Rounding to TF32 (11 bits) would drown such a drift, and float32 units are ten times slower than
half-precision ones. A float32 number, scaled by a power of two, is the sum of two halves to 2^-22; a product
is then three products of halves, summed in float32 (`product`).

What flows back through a network needs less. `RowsTimesLayer` rounds it to one half: three products forward,
two back to the inputs, one for the gradient of the layer. Rounding numbers one by one commutes with permuting
them: where a group permutes coordinates, it leads no gradient out of E. Forward it does not suffice, although
that argument holds there too: normalisation subtracts what samples have in common, digits with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float, Float16, Float32
from torch import Tensor

WORTH_HALVING = 1e11  # operations: float32 units take a GPU 2 ms for them, and add more exactly
LARGEST = 12  # scaled entries stay below 2^12: products of halves then stay far inside float32


def product(
    a: Float[Tensor, "m k"], b: Float[Tensor, "k n"], *, halved: bool | None = None
) -> Float[Tensor, "m n"]:
    """`a @ b` with nearly the accuracy of float32, at three half-precision products' cost.

    `[high_a, low_a, high_a] [high_b; high_b; low_b]`: one product with an inner axis three times as long;
    what is left out, `low_a low_b`, is 2^-22 of the whole.

    Args:
        a: The left matrix.
        b: The right matrix.
        halved: Use halves; by default for large products in float32 on a GPU. Others are left as they are.

    >>> a, b = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [0.1]])
    >>> round(float(product(a, b, halved=True)), 6)
    3.2
    """
    if halved is None:
        large = product_flops(a.shape[0], a.shape[1], b.shape[1]) >= WORTH_HALVING
        halved = large and a.is_cuda and a.dtype == b.dtype == torch.float32
    if not halved:
        return a @ b
    left, scale_a = thrice(a, 1, low=1)
    right, scale_b = thrice(b, 0, low=2)
    return half_product(left, right).mul_(scale_a * scale_b)


def thrice(x: Float32[Tensor, "m n"], axis: int, *, low: int) -> tuple[Float16[Tensor, "..."], Tensor]:
    """The matrix as `scale * (high + low)`: both parts in float16, one of them twice, along an axis.

    Entries below 2^-24 of the largest keep fewer digits: their absolute error is 2^-36 of the largest.

    Args:
        x: The matrix; its order in memory is kept.
        axis: Along which the three are put.
        low: Position of the low part among the three, 1 or 2.

    Returns:
        The three, and the scale, a power of two, as a tensor without axes: nothing waits for the GPU.

    >>> x = torch.tensor([[1.0, 1e-3], [1 / 3, 0.0]])
    >>> parts, scale = thrice(x, 0, low=2)
    >>> high, again, low = parts.float().chunk(3, 0)
    >>> torch.equal(high, again), float(((high + low) * scale - x).abs().max()) < 2**-22
    (True, True)
    """
    if x.stride(0) == 1 and x.stride(1) > 1:
        out, scale = thrice(x.mT, 1 - axis, low=low)
        return out.mT, scale
    exponent = _exponent(x)
    scaled = x * torch.exp2(exponent)
    shape = [*x.shape]
    shape[axis] *= 3
    out = torch.empty(shape, dtype=torch.float16, device=x.device)
    parts = out.chunk(3, axis)
    parts[0].copy_(scaled)
    torch.sub(scaled, parts[0], out=parts[low])
    parts[3 - low].copy_(parts[0])
    return out, torch.exp2(-exponent)


def rounded(x: Float32[Tensor, "m n"]) -> tuple[Float16[Tensor, "m n"], Tensor]:
    """The matrix as `scale * half`: every entry to 2^-11 of itself, the smallest to 2^-36 of the largest.

    >>> half, scale = rounded(torch.tensor([[1e-6, 3e-6]]))
    >>> [round(v, 9) for v in (half.float() * scale).flatten().tolist()]
    [1e-06, 3.001e-06]
    """
    exponent = _exponent(x)
    half = torch.empty_like(x, dtype=torch.float16)
    torch.mul(x, torch.exp2(exponent), out=half)
    return half, torch.exp2(-exponent)


@final
@dataclass(frozen=True, eq=False)
class SplitLayer:
    """A layer `[n, k]` as the sum of two halves, in the two forms its products take.

    Attributes:
        beside: High, high and low half beside each other, `[n, 3 k]`.
        above: High above low half, `[2 n, k]`.
        scale: Scale of both halves.
    """

    beside: Float16[Tensor, "n k3"]
    above: Float16[Tensor, "n2 k"]
    scale: Tensor


def split_layer(layer: Float32[Tensor, "n k"]) -> SplitLayer:
    """Split once, multiply many times.

    >>> layer = torch.tensor([[1.0, 1e-4], [0.3, -2.0]])
    >>> split = split_layer(layer)
    >>> high, low = split.above.float().chunk(2, 0)
    >>> float(((high + low) * split.scale - layer).abs().max()) < 2**-21
    True
    """
    beside, scale = thrice(layer.detach().contiguous(), 1, low=2)
    high, _, low = beside.chunk(3, 1)
    return SplitLayer(beside, torch.cat([high, low], 0), scale)


@final
class RowsTimesLayer(torch.autograd.Function):
    """`x A^T` for each run as `product` has it; gradients are rounded to halves on their way back.

    Called as `RowsTimesLayer.apply(x, layers, splits)`: x `[runs, m, k]`, layers `[runs, n, k]`, and the
    `SplitLayer` of each.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, layers: Tensor, splits: Sequence[SplitLayer]) -> Tensor:
        pairs = [thrice(rows.contiguous(), 1, low=1) for rows in x]
        ctx.save_for_backward(*(part for pair in pairs for part in pair))
        ctx.splits = splits
        return _stacked(
            [
                half_product(parts, split.beside.mT).mul_(scale * split.scale)
                for (parts, scale), split in zip(pairs, splits, strict=True)
            ]
        )

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        kept, splits = ctx.saved_tensors, ctx.splits
        back = [rounded(rows.contiguous()) for rows in outputs[0]]
        to_x, to_layers = None, None
        if ctx.needs_input_grad[0]:
            to_x = _stacked(
                [
                    half_product(torch.cat([half, half], 1), split.above).mul_(scale * split.scale)
                    for (half, scale), split in zip(back, splits, strict=True)
                ]
            )
        if ctx.needs_input_grad[1]:
            to_layers = _stacked(
                [
                    half_product(half.mT, parts.chunk(3, 1)[0]).mul_(scale * x_scale)
                    for (half, scale), parts, x_scale in zip(back, kept[::2], kept[1::2], strict=True)
                ]
            )
        return to_x, to_layers, None


def product_flops(m: int, k: int, n: int) -> float:
    """Operations of one product, `2 m k n`.

    >>> product_flops(10, 20, 30)
    12000.0
    """
    return 2.0 * math.prod((m, k, n))


def half_product(a: Float16[Tensor, "m k"], b: Float16[Tensor, "k n"]) -> Float32[Tensor, "m n"]:
    """Each product of two halves is exact in float32, and they are summed in it.

    >>> half_product(torch.tensor([[0.5, 2.0]]).half(), torch.tensor([[4.0], [1.0]]).half()).tolist()
    [[4.0]]
    """
    return torch.mm(a, b, out_dtype=torch.float32) if a.is_cuda else a.float() @ b.float()


def _stacked(each: list[Tensor]) -> Tensor:
    """One run is not copied."""
    return each[0][None] if len(each) == 1 else torch.stack(each)


def _exponent(x: Tensor) -> Tensor:
    """Of the power of two that brings the largest entry near `2^LARGEST`; zeros have none."""
    return (LARGEST - torch.ceil(torch.log2(torch.linalg.vector_norm(x, math.inf)))).clamp(-100, 100)
