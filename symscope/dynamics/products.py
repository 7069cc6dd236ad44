"""Matrix products of float32 accuracy on a GPU's half-precision units.

A drift of 1e-7 is measured beside steps of 1e-3: rounding products to TF32 (11 bits) would drown it, and
float32 units are ten times slower than half-precision ones. A float32 number, scaled by a power of two,
is the sum of two halves to 2^-22; the product is then three products of halves, summed in float32.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Float16, Float32
from torch import Tensor

LARGEST = 12  # scaled entries stay below 2^12: products of halves then stay far inside float32


def halves(x: Float32[Tensor, "m n"]) -> tuple[Float16[Tensor, "m n"], Float16[Tensor, "m n"], Tensor]:
    """The matrix as `scale * (high + low)`, high and low in float16, scale a power of two.

    Entries below 2^-24 of the largest keep fewer digits: their absolute error is 2^-36 of the largest.

    Returns:
        high, low, and the scale as a tensor without axes: nothing waits for the GPU.

    >>> x = torch.tensor([[1.0, 1e-3], [1 / 3, 0.0]])
    >>> high, low, scale = halves(x)
    >>> float(((high.float() + low.float()) * scale - x).abs().max()) < 2**-22
    True
    """
    exponent = (LARGEST - torch.ceil(torch.log2(x.abs().amax()))).clamp(-100, 100)  # zeros have no exponent
    scaled = x * torch.exp2(exponent)
    high = scaled.half()
    low = (scaled - high.float()).half()
    return high, low, torch.exp2(-exponent)


def product(
    a: Float[Tensor, "m k"], b: Float[Tensor, "k n"], *, halved: bool | None = None
) -> Float[Tensor, "m n"]:
    """`a @ b` with the accuracy of float32, at three half-precision products' cost.

    `[high_a, low_a, high_a] [high_b; high_b; low_b]`: one product with an inner axis three times as long;
    what is left out, `low_a low_b`, is 2^-22 of the whole.

    Args:
        a: The left matrix.
        b: The right matrix.
        halved: Use halves; by default for float32 on a GPU. Other matrices are multiplied as they are.

    >>> a, b = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [0.1]])
    >>> round(float(product(a, b, halved=True)), 6)
    3.2
    """
    if halved is None:
        halved = a.is_cuda and a.dtype == b.dtype == torch.float32
    if not halved:
        return a @ b
    high_a, low_a, scale_a = halves(a)
    high_b, low_b, scale_b = halves(b)
    left = _joined((high_a, low_a, high_a), 1)
    right = _joined((high_b, high_b, low_b), 0)
    out = torch.mm(left, right, out_dtype=torch.float32) if left.is_cuda else left.float() @ right.float()
    return out * (scale_a * scale_b)


def _joined(parts: tuple[Tensor, Tensor, Tensor], axis: int) -> Tensor:
    """The parts one after the other along an axis, in the memory order they have."""
    if parts[0].stride(0) == 1 and parts[0].stride(1) > 1:
        return torch.cat([part.mT for part in parts], 1 - axis).mT
    return torch.cat(parts, axis)


def product_flops(m: int, k: int, n: int, *, halved: bool) -> float:
    """Operations on the multiplying units: `2 m k n`, three times over with halves.

    >>> product_flops(10, 20, 30, halved=True)
    36000.0
    """
    return 2.0 * math.prod((m, k, n)) * (3 if halved else 1)
