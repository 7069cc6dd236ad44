"""Small digits, the network that classifies them, and its runs under every strategy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import torch
from torch import Tensor

from symscope.dynamics import DeclaredNetwork, TrainingProblem, declare_network
from symscope.dynamics.layer_steps import LayerStep, batch_normalisation
from symscope.dynamics.layer_vectors import LayerWeights
from symscope.errors import InputError
from symscope.groups import cyclic, direct_product, permutation, trivial
from symscope.networks.losses import soft_cross_entropy_loss
from symscope.runs import CellContext, CellResults
from symscope_papers.digits import digits
from symscope_papers.dynamics.strategies.config import AUGMENTED, NOMINAL, SCRIPTED_EQUIVARIANT
from symscope_papers.dynamics.strategies.measure import mini_batches, strategy_cells, strategy_rows
from symscope_papers.dynamics.strategies.scripts import (
    channel_normalisation,
    cross_entropy_of_probabilities,
)
from symscope_papers.dynamics.translation.config import CLASSES, SIDE, Translation


def shifted_points(size: int) -> Tensor:
    """Where each shift (a, b) of Z_size^2 sends each pixel, `[size^2, size^2]`.

    >>> shifted_points(2).tolist()
    [[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]]
    """
    i, j = torch.arange(size).repeat_interleave(size), torch.arange(size).repeat(size)
    return torch.stack([((i + a) % size) * size + (j + b) % size for a, b in zip(i, j, strict=True)])


@lru_cache(maxsize=4)
def digit_network(
    size: int, channels: tuple[int, int], invariant: int, scripts: bool = False
) -> DeclaredNetwork:
    """Images -> channels of images, twice -> invariant numbers (normalised) -> 10 classes.

    >>> digit_network(14, (32, 32), 32).parameters  # 39 million in the second layer alone
    40768320
    """
    group = direct_product(cyclic(size), cyclic(size))
    v = permutation(group, shifted_points(size))
    pooled: list[LayerStep | str] = [batch_normalisation(), "leaky_relu"]
    if scripts:
        pooled = ["tanh", channel_normalisation()]
    return declare_network(
        [v, channels[0] * v, channels[1] * v, trivial(group, invariant), trivial(group, CLASSES)],
        ["leaky_relu", "leaky_relu", pooled, ()],
    )


def digit_problem(config: Translation, seed: int, dtype: torch.dtype, device: str) -> TrainingProblem:
    """The network on small digits, pixels shifted to -1/2 .. 1/2."""
    data = digits(config.mnist, "test")
    if len(data) < config.images:
        raise InputError(f"images: expected at most {len(data)}, all of {data.name}, got {config.images}")
    pixels = torch.nn.functional.avg_pool2d(data.x[: config.images, None], SIDE // config.size)
    labels = torch.nn.functional.one_hot(data.labels[: config.images], CLASSES)
    x, y = mini_batches(pixels.flatten(1) - 0.5, labels, config.batch)
    network = digit_network(config.size, config.channels, config.invariant, config.scripts)
    loss = cross_entropy_of_probabilities if config.scripts else soft_cross_entropy_loss
    return TrainingProblem(network, loss, x.to(device, dtype), y.to(device, dtype))


def cells(config: Translation) -> list[dict[str, Any]]:
    """One cell for each independent measurement."""
    digits(config.mnist, "test")  # missing files fail here, before anything runs
    return strategy_cells(config)


def measure_cell(config: Translation, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    if not config.scripts:
        return strategy_rows(config, cell, context, digit_problem)
    # shifts are drawn from 0 to size, both included, so that none is as likely as two others
    along = [2.0, *[1.0] * (config.size - 1)]
    weights = tuple(a * b for a in along for b in along)
    ways = (SCRIPTED_EQUIVARIANT, replace(AUGMENTED, weights=weights), NOMINAL)
    return strategy_rows(config, cell, context, digit_problem, ways, partial(scripted_scale, config))


def scripted_scale(config: Translation, layers: LayerWeights) -> LayerWeights:
    """Standard Gaussians in E at the scales of the authors' scripts."""
    n, (first, _) = config.size, config.channels
    scales = (1 / n, 1 / (n * math.sqrt(first)), n / math.sqrt(config.invariant), n / config.invariant)
    return tuple(layer * scale for layer, scale in zip(layers, scales, strict=True))
