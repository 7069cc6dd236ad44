"""Chains on a GPU: which kernel, how many blocks and threads, how much shared memory."""

from __future__ import annotations

import torch
from torch import Tensor

from symscope.kernels.infinite._fused._chain_source import conv_source, dense_source
from symscope.kernels.infinite._fused._chains import Chain
from symscope.kernels.infinite._fused._cuda_driver import cuda_kernel
from symscope.kernels.infinite._fused._input_pairs import PairedInputs, inverse_roots, pair_list, placed_grams

_THREADS = 256  # per block: enough warps to hide latency, few enough for shared memory of several blocks
_SHARED = 160_000  # bytes of shared memory a block may ask for: what data-centre cards since 2020 have
_BLOCKS = 4096  # blocks wanted in flight: several waves of the largest chips
PANEL = 1 << 26  # entries of a panel of products: large enough for full speed, 0.5 GB in float64
_RESIDENT = {
    torch.float32: 1024,
    torch.float64: 640,
}  # threads per multiprocessor the registers are shared among
ROWS = 4  # rows of a column per thread


def run_dense_chain(
    chain: Chain, inputs: PairedInputs, nngp: bool, ntk: bool
) -> tuple[Tensor | None, Tensor | None]:
    """All layers of a dense network over many Grams: one matrix product and one pass per panel of rows.

    Args:
        chain: The layers.
        inputs: Vectors.
        nngp: Whether the NNGP is wanted.
        ntk: Whether the tangent kernel is wanted.

    Returns:
        NNGP and NTK, `[b, n1, n2]`, None where not wanted.
    """
    x1, x2, symmetric = inputs.x1, inputs.x2, inputs.symmetric
    (b, n1, d), n2 = x1.shape, x2.shape[1]
    device = x1.device.index or 0
    kernel = cuda_kernel(dense_source(chain, x1.dtype, nngp, ntk), "dense_chain", 0, device)
    outputs = [
        torch.empty(b, n1, n2, dtype=x1.dtype, device=x1.device) if want else None for want in (nngp, ntk)
    ]
    some = next(t for t in outputs if t is not None)
    roots = [_beside_inverses(inputs.roots1), _beside_inverses(inputs.roots2)]
    panel = max(32, PANEL // (b * n2) // 32 * 32)
    with torch.cuda.device(device):
        for row in range(0, n1, panel):
            stop, col = min(row + panel, n1), row if symmetric else 0
            products = torch.bmm(x1[:, row:stop] / d, x2[:, col:].mT)
            rows, cols = stop - row, n2 - col
            kernel.launch(
                (-(-cols // 32), -(-rows // 32), b),
                (32, 8, 1),
                [
                    products,
                    *(some if t is None else t for t in outputs),
                    *roots,
                    *(rows, cols, row, col, n1, n2, b, int(symmetric)),
                ],
            )
    return outputs[0], outputs[1]


def fits(chain: Chain, shape: tuple[int, int, int], dtype: torch.dtype, ntk: bool) -> bool:
    """Whether the maps of one displacement fit into a block, and filters are no larger than the image."""
    _, h, w = shape
    small = all(kh <= h and kw <= w for kh, kw in (step.taps for step in chain.steps))
    return small and _lanes(shape) <= 1024 and _shared_bytes(chain, shape, 1, dtype, ntk) <= _SHARED


def run_conv_chain(chain: Chain, inputs: PairedInputs, ntk: bool) -> tuple[Tensor, Tensor | None]:
    """A convolutional chain with its read-out, over many Grams of images.

    Args:
        chain: The layers and the read-out.
        inputs: Images.
        ntk: Whether the tangent kernel is wanted.

    Returns:
        NNGP and NTK after the read-out, `[b, n1, n2]`.
    """
    x1, x2, symmetric = inputs.x1, inputs.x2, inputs.symmetric
    b, n1, c, h, w = x1.shape
    n2, pooled = x2.shape[1], chain.readout == "all"
    dtype, device = x1.dtype, x1.device.index or 0
    groups = max(1, min(_THREADS // _lanes((c, h, w)), h * w)) if pooled else 1
    threads = -(-_lanes((c, h, w)) * groups // 32) * 32
    shared = _shared_bytes(chain, (c, h, w), groups, dtype, ntk)
    resident = max(1, min(_RESIDENT[dtype] // threads, _SHARED // max(shared, 1), 16))
    kernel = cuda_kernel(
        conv_source(chain, (c, h, w), ROWS, groups, resident, dtype, ntk), "conv_chain", shared, device
    )
    listed = pair_list(b, n1, n2, symmetric, x1.device) if pooled else None
    cells = torch.zeros(2, 1, dtype=torch.int32, device=x1.device) if listed is None else listed
    blocks = cells.shape[1] if pooled else b * n1
    items = h * w if pooled else n2
    chunks = max(1, min(-(-items // groups), -(-_BLOCKS // blocks)))
    out = torch.zeros(
        2, chunks if pooled else 1, blocks if pooled else b * n1 * n2, dtype=torch.float64, device=x1.device
    )
    tensors = [
        x1.contiguous(),
        x2.contiguous(),
        _beside_inverses(inputs.roots1),
        _beside_inverses(inputs.roots2),
        cells.contiguous(),
        out,
    ]
    with torch.cuda.device(device):
        kernel.launch(
            (blocks, chunks, 1), (threads, 1, 1), [*tensors, n1, n2, cells.shape[1], chunks, int(symmetric)]
        )
    mean = out.sum(dim=1) / (h * w * (h * w if pooled else 1))
    nngp, theta = (placed_grams(values.to(dtype), listed, (b, n1, n2), symmetric) for values in mean)
    return nngp, theta if ntk else None


def _lanes(shape: tuple[int, int, int]) -> int:
    """Threads that share one map."""
    return -(-shape[1] // ROWS) * shape[2]


def _shared_bytes(
    chain: Chain, shape: tuple[int, int, int], groups: int, dtype: torch.dtype, ntk: bool
) -> int:
    """Shared memory of a block: its images with their margins, and the maps of its displacements."""
    c, h, w = shape
    images = 2 if chain.readout == "all" else 1
    maps = (2 if ntk else 1) * groups if len(chain.steps) > 1 else 0
    margin = 2 * (chain.steps[0].taps[1] // 2)
    return (images * c * h * (w + margin) + maps * h * w) * dtype.itemsize


def _beside_inverses(roots: Tensor) -> Tensor:
    """Each root beside its inverse, for one wide load."""
    return torch.stack([roots, inverse_roots(roots)], dim=-1).contiguous()
