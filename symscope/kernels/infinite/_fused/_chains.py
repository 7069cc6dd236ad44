"""The two shapes of network that run in one pass: chains of dense layers, or of convolutions of one size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import final

from symscope.kernels.activations._piecewise_linear import PiecewiseLinearDual
from symscope.kernels.infinite._operations import (
    Activate,
    Conv,
    Dense,
    Flatten,
    GlobalPool,
    Input,
    LayerWeights,
)
from symscope.kernels.infinite._wide_network import WideNetwork


@final
@dataclass(frozen=True)
class ChainStep:
    """One layer with weights and the piecewise-linear activation that follows it.

    Attributes:
        weights: How the layer acts on kernels.
        taps: Filter size, rows and columns; (1, 1) for dense layers.
        dual: The activation.
        node: The index of the activation in the network, where its variances are kept.
    """

    weights: LayerWeights
    taps: tuple[int, int]
    dual: PiecewiseLinearDual
    node: int


@final
@dataclass(frozen=True)
class Chain:
    """The longest beginning of a network that can run in one pass.

    Attributes:
        steps: Layers with their activations.
        readout: "dense" (vectors throughout), "equal" (positions flattened) or "all" (positions pooled).
        circular: Whether convolutions wrap around (else they pad with zeros).
        final: Last layer of a dense chain, which has no activation; None for convolutions.
        last: The index of the node whose kernels come out.
    """

    steps: tuple[ChainStep, ...]
    readout: str
    circular: bool
    final: LayerWeights | None
    last: int


@cache
def chain_of(network: WideNetwork) -> Chain | None:
    """The chain a network starts with, or None if it does not start with one.

    >>> from torch import nn
    >>> from symscope.kernels import infinite_width
    >>> net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    >>> chain = chain_of(infinite_width(net).network)
    >>> len(chain.steps), chain.readout, chain.last
    (2, 'dense', 5)
    """
    nodes = network.nodes
    if not isinstance(nodes[0].operation, Input) or any(
        node.inputs != (index - 1,) for index, node in enumerate(nodes) if index
    ):
        return None
    first = nodes[1].operation if len(nodes) > 1 else None
    if isinstance(first, Dense):
        return _dense_chain(network)
    if not isinstance(first, Conv):
        return None
    steps, last = _steps(network, Conv)
    if not steps or last + 1 >= len(nodes):
        return None
    circular = {
        w.circular for n in nodes[1 : last + 1] if isinstance(n.operation, Conv) for w in n.operation.windows
    }
    readout = nodes[last + 1].operation
    if len(circular) != 1 or not isinstance(readout, Flatten | GlobalPool):
        return None
    return Chain(steps, "all" if isinstance(readout, GlobalPool) else "equal", circular.pop(), None, last + 1)


def _dense_chain(network: WideNetwork) -> Chain | None:
    """A chain of dense layers counts only if it is the whole network."""
    steps, last = _steps(network, Dense)
    end = network.nodes[-1].operation
    if not steps or len(network.nodes) != last + 2 or not isinstance(end, Dense):
        return None
    return Chain(steps, "dense", False, end.weights, last + 1)


def _steps(network: WideNetwork, layer: type[Dense] | type[Conv]) -> tuple[tuple[ChainStep, ...], int]:
    """Pairs (layer, piecewise-linear activation) from the beginning, and the index of the last activation."""
    steps: list[ChainStep] = []
    index = 1
    while index + 1 < len(network.nodes):
        weighted, activation = network.nodes[index].operation, network.nodes[index + 1].operation
        if not (isinstance(weighted, layer) and isinstance(activation, Activate)):
            break
        if not isinstance(activation.dual, PiecewiseLinearDual):
            break
        if isinstance(weighted, Conv):
            if not _same_size(weighted):
                break
            taps = (weighted.windows[0].size, weighted.windows[1].size)
        else:
            taps = (1, 1)
        steps.append(ChainStep(weighted.weights, taps, activation.dual, index + 1))
        index += 2
    return tuple(steps), index - 1


def _same_size(conv: Conv) -> bool:
    """Whether a convolution of images keeps every position: odd filters, stride 1, half a filter padded."""
    return len(conv.windows) == 2 and all(
        w.stride == 1 and w.dilation == 1 and w.size % 2 == 1 and w.before == w.after == w.size // 2
        for w in conv.windows
    )
