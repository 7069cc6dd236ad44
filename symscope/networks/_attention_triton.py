"""Triton kernels of attention over few tokens: one program per image and head, everything in registers.

Imported only where a GPU runs it. `qkv` is `[images, tokens, 3, heads, D]`, contiguous; T is the number of
tokens rounded up to a power of two. Nothing but q, k, v is kept for the way back: weights are computed again.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _load(base, place, known):
    return tl.load(base + place, mask=known, other=0.0)


@triton.jit
def _weights(q, k, t, tokens, scale):
    """Softmax of the scores over known tokens."""
    scores = tl.dot(q, tl.trans(k)) * scale
    scores = tl.where(t[None, :] < tokens, scores, float("-inf"))
    weights = tl.exp(scores - tl.max(scores, 1)[:, None])
    return weights / tl.sum(weights, 1)[:, None]


@triton.jit
def forward(qkv, out, tokens, scale, heads: tl.constexpr, T: tl.constexpr, D: tl.constexpr):
    image, head = (tl.program_id(0) // heads).to(tl.int64), tl.program_id(0) % heads
    t, d = tl.arange(0, T), tl.arange(0, D)
    known = t[:, None] < tokens
    one = image * tokens * heads * D + t[:, None] * heads * D + head * D + d[None, :]
    three = image * tokens * 3 * heads * D + t[:, None] * 3 * heads * D + head * D + d[None, :]
    q = _load(qkv, three, known)
    k = _load(qkv, three + heads * D, known)
    v = _load(qkv, three + 2 * heads * D, known)
    weights = _weights(q, k, t, tokens, scale).to(v.dtype)
    tl.store(out + one, tl.dot(weights, v).to(v.dtype), mask=known)


@triton.jit
def backward(qkv, slope, out, tokens, scale, heads: tl.constexpr, T: tl.constexpr, D: tl.constexpr):
    """`slope` is the gradient of the output, `out` becomes the gradient of qkv."""
    image, head = (tl.program_id(0) // heads).to(tl.int64), tl.program_id(0) % heads
    t, d = tl.arange(0, T), tl.arange(0, D)
    known = t[:, None] < tokens
    one = image * tokens * heads * D + t[:, None] * heads * D + head * D + d[None, :]
    three = image * tokens * 3 * heads * D + t[:, None] * 3 * heads * D + head * D + d[None, :]
    q = _load(qkv, three, known)
    k = _load(qkv, three + heads * D, known)
    v = _load(qkv, three + 2 * heads * D, known)
    given = _load(slope, one, known)
    weights = _weights(q, k, t, tokens, scale)
    to_values = tl.dot(tl.trans(weights.to(v.dtype)), given)
    tl.store(out + three + 2 * heads * D, to_values.to(v.dtype), mask=known)
    to_weights = tl.dot(given, tl.trans(v))
    to_scores = weights * (to_weights - tl.sum(weights * to_weights, 1)[:, None]) * scale
    to_scores = to_scores.to(v.dtype)
    tl.store(out + three, tl.dot(to_scores, k).to(v.dtype), mask=known)
    tl.store(out + three + heads * D, tl.dot(tl.trans(to_scores), q).to(v.dtype), mask=known)
