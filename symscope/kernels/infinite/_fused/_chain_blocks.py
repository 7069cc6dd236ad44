"""Blocks of kernels of a network that is, or begins with, a chain."""

from __future__ import annotations

import torch
from torch import Tensor

from symscope.kernels.infinite._fused._chains import Chain, chain_of
from symscope.kernels.infinite._fused._cuda_driver import can_compile
from symscope.kernels.infinite._fused._input_pairs import PairedInputs
from symscope.kernels.infinite._fused._launch import fits, run_conv_chain, run_dense_chain
from symscope.kernels.infinite._fused._native import native_chain, run_native_conv, run_native_dense
from symscope.kernels.infinite._sides import InputSide
from symscope.kernels.infinite._wide_network import WideNetwork


def usable_chain(
    network: WideNetwork, x: Tensor, ntk: bool, columns: int, device: torch.device | None = None
) -> Chain | None:
    """The chain of a network if it can run in one pass on a device for the shape of x, `[b, n, *s]`.

    On a CPU that asks for a C compiler and enough entries, rows of x times `columns`, to be worth compiling.

    Args:
        network: The network.
        x: First inputs.
        ntk: Whether the tangent kernel is wanted.
        columns: Number of second inputs in each Gram.
        device: Device of the computation; that of x if None.

    >>> from torch import nn
    >>> from symscope.kernels import infinite_width
    >>> net = infinite_width(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))).network
    >>> usable_chain(net, torch.ones(1, 4, 3), True, 4) is None  # sixteen entries are soon done
    True
    """
    where = x.device if device is None else device
    if where.type == "cpu":
        return native_chain(chain_of(network), tuple(x.shape[2:]), x.shape[0] * x.shape[1] * columns, x.dtype)
    if not can_compile(where):
        return None
    chain = chain_of(network)
    if chain is None or chain.readout == "dense":
        return chain
    c, h, w = x.shape[2:]
    return chain if fits(chain, (c, h, w), x.dtype, ntk) else None


def dense_blocks(
    chain: Chain, x1: Tensor, x2: Tensor | None, one: InputSide, two: InputSide, nngp: bool, ntk: bool
) -> tuple[Tensor | None, Tensor | None]:
    """NNGP and NTK of a whole dense network, `[b, n1, n2]`."""
    run = run_native_dense if x1.device.type == "cpu" else run_dense_chain
    return run(chain, _paired_inputs(chain, x1, x2, one, two, 0), nngp, ntk)


def conv_blocks(
    chain: Chain, x1: Tensor, x2: Tensor | None, one: InputSide, two: InputSide, ntk: bool
) -> tuple[Tensor, Tensor | None]:
    """NNGP and NTK after the read-out of a convolutional chain, `[b, n1, n2]`."""
    run = run_native_conv if x1.device.type == "cpu" else run_conv_chain
    return run(chain, _paired_inputs(chain, x1, x2, one, two, 2), ntk)


def _paired_inputs(
    chain: Chain, x1: Tensor, x2: Tensor | None, one: InputSide, two: InputSide, axis: int
) -> PairedInputs:
    """Inputs with the roots of their variances, the layers of the chain along one axis."""
    roots1, roots2 = (
        torch.stack([_roots(side, step.node) for step in chain.steps], dim=axis) for side in (one, two)
    )
    return PairedInputs(x1, x1 if x2 is None else x2, roots1, roots2, x2 is None)


def _roots(side: InputSide, node: int) -> Tensor:
    variances = side.variances[node]
    assert variances is not None
    return variances.sqrt()
