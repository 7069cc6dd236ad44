"""Chains on a CPU: compiled code, one core per thread, nothing allocated on the way."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from symscope.kernels._threads import each
from symscope.kernels.infinite._fused._chain_source import c_conv_source, c_dense_source
from symscope.kernels.infinite._fused._chains import Chain
from symscope.kernels.infinite._fused._compiler import compiler, library
from symscope.kernels.infinite._fused._input_pairs import PairedInputs, inverse_roots, pair_list, placed_grams

WORTH = 1 << 20  # pairs of positions times layers below which compiling would cost more than it saves
_PANEL = 1 << 18  # entries of a panel of products: it stays in the cache of a core
_SHARES = 4  # pieces of work per core, so that cores end together


def native_chain(
    chain: Chain | None, shape: tuple[int, ...], entries: int, dtype: torch.dtype
) -> Chain | None:
    """The chain if compiling it is possible and worth while for so many entries of a Gram.

    Args:
        chain: The chain that `chain_of` found, if any.
        shape: Shape of one input.
        entries: Number of entries of the Gram.
        dtype: Dtype of the inputs.
    """
    if chain is None or compiler() is None or dtype not in (torch.float32, torch.float64):
        return None
    positions = 1 if chain.readout == "dense" else shape[1] * shape[2]
    work = entries * positions ** (2 if chain.readout == "all" else 1) * len(chain.steps)
    small = positions == 1 or all(
        kh <= shape[1] and kw <= shape[2] for kh, kw in (s.taps for s in chain.steps)
    )
    return chain if work >= WORTH and small and library(_source(chain, shape, dtype)) is not None else None


def run_native_dense(
    chain: Chain, inputs: PairedInputs, nngp: bool, ntk: bool
) -> tuple[Tensor | None, Tensor | None]:
    """`run_dense_chain` on a CPU."""
    x1, x2, symmetric = inputs.x1, inputs.x2, inputs.symmetric
    (b, n1, d), n2 = x1.shape, x2.shape[1]
    code = library(c_dense_source(chain, x1.dtype, nngp, ntk))
    assert code is not None
    outputs = [x1.new_empty(b, n1, n2) if want else None for want in (nngp, ntk)]
    roots = [t.contiguous() for r in (inputs.roots1, inputs.roots2) for t in (r, inverse_roots(r))]
    height = max(8, _PANEL // n2 // 8 * 8)
    panels = [(z, row) for z in range(b) for row in range(0, n1, height)]

    def compute(place: tuple[int, int]) -> None:
        z, row = place
        stop, col = min(row + height, n1), row if symmetric else 0
        products = (x1[z, row:stop] / d) @ x2[z, col:].mT
        mine = [t.view(-1, b, t.shape[-1])[:, z].contiguous() for t in roots]
        code.dense_chain(
            *_pointers([products, *(None if t is None else t[z] for t in outputs), *mine]),
            *(ctypes.c_int(v) for v in (stop - row, n2 - col, row, col, n1, n2, int(symmetric))),
        )

    each(compute, panels, x1.device)
    return outputs[0], outputs[1]


def run_native_conv(chain: Chain, inputs: PairedInputs, ntk: bool) -> tuple[Tensor, Tensor | None]:
    """`run_conv_chain` on a CPU."""
    x1, x2, symmetric = inputs.x1, inputs.x2, inputs.symmetric
    b, n1, c, h, w = x1.shape
    n2, pooled, lanes = x2.shape[1], chain.readout == "all", lane_count(chain, (c, h, w), x1.dtype)
    code = library(c_conv_source(chain, (c, h, w), lanes, x1.dtype, ntk))
    assert code is not None
    second, roots, inverses = (
        _beside(t, pooled, lanes) for t in (x2, inputs.roots2, inverse_roots(inputs.roots2))
    )  # what neighbouring lanes read stands side by side
    span = second.shape[-1]
    cells = pair_list(b, n1, n2, symmetric, x1.device) if pooled else torch.zeros(2, 1, dtype=torch.int32)
    count = cells.shape[1] if pooled else b * n1
    out = torch.zeros(2, count if pooled else count * n2, dtype=torch.float64)
    tensors = [
        x1.contiguous(),
        second,
        inputs.roots1.contiguous(),
        inverse_roots(inputs.roots1).contiguous(),
        roots,
        inverses,
    ]
    tensors += [_apart(chain, w, span, x1.dtype), cells, out]

    def compute(begin: int) -> None:
        numbers = (begin, min(begin + share, count), count, n1, n2, span, int(symmetric))
        code.conv_chain(*_pointers(tensors), *(ctypes.c_int(v) for v in numbers))

    share = max(1, count // (_SHARES * torch.get_num_threads()))
    each(compute, range(0, count, share), x1.device)
    mean = (out / (h * w * (h * w if pooled else 1))).to(x1.dtype)
    listed = cells if pooled else None
    nngp, theta = (placed_grams(values, listed, (b, n1, n2), symmetric) for values in mean)
    return nngp, theta if ntk else None


def lane_count(chain: Chain, shape: tuple[int, int, int], dtype: torch.dtype) -> int:
    """How many displacements or partners run side by side: vector registers filled, few lanes idle.

    Of two counts with equally many idle lanes the first was the faster where it was measured.
    """
    if chain.readout != "all":
        return 8
    return min((16, 8) if dtype == torch.float64 else (8, 16), key=lambda n: -(-shape[2] // n) * n)


def _source(chain: Chain, shape: tuple[int, ...], dtype: torch.dtype) -> str:
    if chain.readout == "dense":
        return c_dense_source(chain, dtype, False, True)
    c, h, w = shape
    return c_conv_source(chain, (c, h, w), lane_count(chain, (c, h, w), dtype), dtype, True)


def _beside(t: Tensor, pooled: bool, lanes: int) -> Tensor:
    """Second images or roots `[b, n, k, h, w]`, laid out as `conv_chain.c` says."""
    b, n, k, h, w = t.shape
    if pooled:
        turns = -(-(2 * w + lanes) // w)
        return t.repeat(1, 1, 1, 1, turns)[..., : 2 * w + lanes].contiguous()
    padded = t.new_zeros(b, k, h, w, -(-n // lanes) * lanes)
    padded[..., :n] = t.movedim(1, -1)
    return padded


def _apart(chain: Chain, w: int, span: int, dtype: torch.dtype) -> Tensor:
    """1 where a tap and its centre lie on the same side of the wrap of the second position, else 0."""
    taps = max(step.taps[1] for step in chain.steps)
    column = torch.arange(span)
    out = torch.zeros(len(chain.steps), taps, span, dtype=dtype)
    for layer, step in enumerate(chain.steps):
        half = step.taps[1] // 2
        for d in range(-half, half + 1):
            out[layer, d + half] = ((column + d >= w) == (column >= w)).to(dtype)
    return out


def _pointers(tensors: list[Tensor | None] | list[Tensor]) -> list[ctypes.c_void_p]:
    return [ctypes.c_void_p(None if t is None else t.data_ptr()) for t in tensors]
