"""Attention over queries, keys and values in one tensor: PyTorch's own, or for few tokens on a GPU ours.

General attention kernels work in tiles of 64 to 128 tokens and keep running sums between them. An image of 49
patches is less than one tile: one program holds all of it in registers, forwards and back.
"""

from __future__ import annotations

import importlib.util
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

MOST_TOKENS = 64  # beyond, registers no longer hold all scores
HEAD_SIZES = (16, 32, 64)
COMPILER = importlib.util.find_spec("triton") is not None  # asked once: a compiled step cannot ask


def attention(qkv: Float[Tensor, "b t 3 heads d"]) -> Float[Tensor, "b t heads d"]:
    """`softmax(q k^T / sqrt(d)) v` for each image and head.

    Args:
        qkv: Queries, keys and values of every token.

    >>> attention(torch.ones(1, 2, 3, 1, 4)).flatten().tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    if _fits(qkv):
        return short_attention(qkv)
    q, k, v = (part.transpose(-2, -3) for part in qkv.unbind(-3))  # heads before tokens
    return nn.functional.scaled_dot_product_attention(q, k, v).transpose(-2, -3)


def _fits(qkv: Tensor) -> bool:
    tokens, heads_size = qkv.shape[-4], qkv.shape[-1]
    return (
        qkv.is_cuda
        and qkv.dtype in (torch.bfloat16, torch.float16)
        and tokens <= MOST_TOKENS
        and heads_size in HEAD_SIZES
        and COMPILER
    )


@torch.library.custom_op(
    "symscope::short_attention", mutates_args=(), device_types="cuda", schema="(Tensor qkv) -> Tensor"
)
def short_attention(qkv: Tensor) -> Tensor:
    """`attention` for at most 64 tokens in bfloat16 or float16 on a GPU."""
    from symscope.networks import _attention_triton as _attention_kernels

    qkv = qkv.contiguous()
    images, tokens, _, heads, size = qkv.shape
    out = qkv.new_empty(images, tokens, heads, size)
    _attention_kernels.forward[(images * heads,)](
        qkv, out, tokens, 1 / math.sqrt(size), heads, T=_tile(tokens), D=size
    )
    return out


@torch.library.custom_op(
    "symscope::short_attention_slope",
    mutates_args=(),
    device_types="cuda",
    schema="(Tensor qkv, Tensor slope) -> Tensor",
)
def short_attention_slope(qkv: Tensor, slope: Tensor) -> Tensor:
    """The gradient with respect to qkv, given that of the output."""
    from symscope.networks import _attention_triton as _attention_kernels

    qkv, slope = qkv.contiguous(), slope.contiguous()
    images, tokens, _, heads, size = qkv.shape
    out = torch.empty_like(qkv)
    _attention_kernels.backward[(images * heads,)](
        qkv, slope, out, tokens, 1 / math.sqrt(size), heads, T=_tile(tokens), D=size
    )
    return out


def _tile(tokens: int) -> int:
    """A power of two, 16 at least: what the matrix units take."""
    return max(16, 1 << (tokens - 1).bit_length())


@short_attention.register_fake
def _(qkv: Tensor) -> Tensor:
    images, tokens, _, heads, size = qkv.shape
    return qkv.new_empty(images, tokens, heads, size)


@short_attention_slope.register_fake
def _(qkv: Tensor, slope: Tensor) -> Tensor:
    return qkv.new_empty(qkv.shape)


def _keep(ctx: torch.autograd.function.FunctionCtx, inputs: tuple[Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _back(ctx: torch.autograd.function.FunctionCtx, slope: Tensor) -> Tensor:
    return short_attention_slope(*ctx.saved_tensors, slope)  # type: ignore[attr-defined]


short_attention.register_autograd(_back, setup_context=_keep)


@short_attention.register_vmap
def _(info: object, in_dims: tuple[int | None], qkv: Tensor) -> tuple[Tensor, int]:
    copies = qkv.movedim(in_dims[0] or 0, 0)  # called only with an axis of copies
    return short_attention(copies.flatten(0, 1)).unflatten(0, copies.shape[:2]), 0


@short_attention_slope.register_vmap
def _(info: object, in_dims: tuple[int | None, int | None], *tensors: Tensor) -> tuple[Tensor, int]:
    size = next(x.shape[dim] for x, dim in zip(tensors, in_dims, strict=True) if dim is not None)
    moved = [
        x.expand(size, *x.shape) if dim is None else x.movedim(dim, 0)
        for x, dim in zip(tensors, in_dims, strict=True)
    ]
    joined = short_attention_slope(*(x.flatten(0, 1) for x in moved))
    return joined.unflatten(0, moved[0].shape[:2]), 0
