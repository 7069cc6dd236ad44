"""Graphs, the network that classifies them, and its runs under every strategy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from symscope.dynamics import DeclaredNetwork, TrainingProblem, declare_network
from symscope.dynamics.layer_steps import LayerStep, batch_normalisation
from symscope.dynamics.layer_vectors import LayerWeights
from symscope.groups import permutation, symmetric, trivial
from symscope.networks.losses import binary_cross_entropy_loss
from symscope.runs import CellContext, CellResults
from symscope_papers.block_graphs import block_graphs
from symscope_papers.dynamics.permutation.config import Permutation
from symscope_papers.dynamics.strategies.config import AUGMENTED, NOMINAL, SCRIPTED_EQUIVARIANT
from symscope_papers.dynamics.strategies.measure import mini_batches, strategy_rows
from symscope_papers.dynamics.strategies.scripts import channel_normalisation


def graph_network(
    nodes: int, channels: int, invariant: int, hidden: int, scripts: bool = False
) -> DeclaredNetwork:
    """Adjacency matrices -> channels of matrices -> invariant numbers (normalised) -> hidden -> 1.

    >>> graph_network(10, 32, 64, 32).parameters  # 3200 x 100 + 64 x 3200 + 32 x 64 + 32
    526880
    """
    group = symmetric(nodes)
    v = permutation(group)
    matrices = v * v
    pooled: list[LayerStep | str] = [batch_normalisation(), "leaky_relu"]
    if scripts:
        pooled = ["leaky_relu", channel_normalisation()]
    return declare_network(
        [
            matrices,
            channels * matrices,
            trivial(group, invariant),
            trivial(group, hidden),
            trivial(group, 1),
        ],
        ["leaky_relu", pooled, "leaky_relu", ()],
    )


def graph_problem(config: Permutation, seed: int, dtype: torch.dtype, device: str) -> TrainingProblem:
    """The network on the graphs, entries shifted to -1/2 and 1/2; label 1 for connected ones."""
    data = block_graphs(config.graphs, config.nodes, seed=seed, dtype=dtype)
    labels = data.labels.to(dtype)[:, None]
    x, y = mini_batches(data.x.flatten(1) - 0.5, labels, config.batch)
    network = graph_network(config.nodes, config.channels, config.invariant, config.hidden, config.scripts)
    return TrainingProblem(network, binary_cross_entropy_loss, x.to(device), y.to(device))


def measure_cell(config: Permutation, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    if not config.scripts:
        return strategy_rows(config, cell, context, graph_problem)
    ways = (SCRIPTED_EQUIVARIANT, AUGMENTED, NOMINAL)
    return strategy_rows(config, cell, context, graph_problem, ways, partial(scripted_scale, config))


def scripted_scale(config: Permutation, layers: LayerWeights) -> LayerWeights:
    """Standard Gaussians in E at the scales of the authors' scripts; pooling is the mean of all entries."""
    n = config.nodes
    first, pooling, head, last = layers
    mean = pooling.unflatten(-1, (config.channels, n * n)).mean(-1, keepdim=True)
    pooling = mean.expand(*mean.shape[:-1], n * n).flatten(-2) * (n / math.sqrt(config.invariant))
    scale = 1 / (n * math.sqrt(config.channels))
    return first * scale, pooling, head * (n / config.invariant), last * (n / config.hidden)
