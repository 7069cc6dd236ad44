"""Images of shapes, the network that finds their masks, and its runs under every strategy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

import torch
from torch import Tensor

from symscope.dynamics import DeclaredNetwork, TrainingProblem, declare_network
from symscope.dynamics.layer_steps import LayerStep, batch_normalisation
from symscope.dynamics.layer_vectors import LayerWeights
from symscope.groups import cyclic, permutation
from symscope.networks.losses import binary_cross_entropy_loss
from symscope.runs import CellContext, CellResults
from symscope_papers.dynamics.permutation.config import Permutation
from symscope_papers.dynamics.permutation.measure import graph_problem
from symscope_papers.dynamics.rotation.config import FOUR, Rotation
from symscope_papers.dynamics.rotation.polygons import polygons, scripted_polygons
from symscope_papers.dynamics.strategies.config import AUGMENTED, DTYPES, NOMINAL, SCRIPTED_EQUIVARIANT
from symscope_papers.dynamics.strategies.measure import (
    acted_layers,
    follow_paths,
    mini_batches,
    path_rows,
    starting_layers,
    strategy_cells,
    strategy_rows,
)
from symscope_papers.dynamics.strategies.scripts import channel_normalisation

MASKS = 2
SHADE = 0.431  # of shapes in the authors' images


def turned_points(size: int) -> Tensor:
    """Where each of the four turns (counter-clockwise) sends each pixel, `[4, size^2]`.

    >>> turned_points(2)[1].tolist()  # top left goes to bottom left
    [2, 0, 3, 1]
    """
    pixels = torch.arange(size * size).reshape(size, size)
    # after turning, place p shows the pixel in rot90(...)[p]: the inverse says where pixels go
    return torch.stack([torch.argsort(torch.rot90(pixels, k).flatten()) for k in range(4)])


@lru_cache(maxsize=4)
def mask_network(size: int, channels: tuple[int, int, int], scripts: bool = False) -> DeclaredNetwork:
    """Images -> channels of images, three times -> two masks (normalised, as logits).

    >>> mask_network(14, (32, 32, 16)).parameters
    61465600
    """
    v = permutation(cyclic(4), turned_points(size))
    first, second, third = channels
    last: list[LayerStep | str] = [batch_normalisation()]
    if scripts:
        last = ["leaky_relu", channel_normalisation()]
    return declare_network(
        [v, first * v, second * v, third * v, MASKS * v],
        ["leaky_relu", "leaky_relu", "leaky_relu", last],
    )


def two_masks(prediction: Tensor, y: Tensor) -> Tensor:
    """The sum over both masks of the mean binary cross-entropy over pixels (App. C.3).

    >>> round(float(two_masks(torch.zeros(1, 8), torch.ones(1, 8))), 4)  # 2 log 2
    1.3863
    """
    return MASKS * binary_cross_entropy_loss(prediction, y)


def mask_problem(config: Rotation, seed: int, dtype: torch.dtype, device: str) -> TrainingProblem:
    """The network on images of one shape each."""
    if config.scripts:
        data = scripted_polygons(config.images, config.size, seed=seed, dtype=dtype)
    else:
        data = polygons(config.images, config.size, seed=seed, canvas=config.canvas, dtype=dtype)
    images, masks = data.images, data.masks
    if config.scripts:
        # dark shapes on white, one half subtracted; of the kind that is not shown the mask is all ones
        images = SHADE * images + (1 - images) - 0.5
        masks = torch.where(masks.flatten(2).any(-1)[..., None, None], masks, torch.ones_like(masks))
    x, y = mini_batches(images.flatten(1), masks.flatten(1), config.batch)
    network = mask_network(config.size, config.channels, config.scripts)
    return TrainingProblem(network, two_masks, x.to(device), y.to(device))


def paper_size(config: Rotation) -> bool:
    """Whether network and images are those of the paper."""
    sizes = (config.size, config.images, config.channels, config.batch)
    return sizes == (Rotation.size, Rotation.images, Rotation.channels, Rotation.batch)


def cells(config: Rotation) -> list[dict[str, Any]]:
    """Blocks of runs, runs in both precisions, and Experiment 1 to compare with at the paper's size."""
    return strategy_cells(config) + [{"part": "graphs", "first": 0}] * paper_size(config)


def measure_cell(config: Rotation, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    if cell["part"] == "graphs":
        setting = Permutation(runs=config.runs, epochs=config.epochs, passes=config.passes)
        return {"graphs": graph_rows(setting, context)}
    if not config.scripts:
        return strategy_rows(config, cell, context, mask_problem, FOUR)
    ways = (SCRIPTED_EQUIVARIANT, *FOUR[1:])
    return strategy_rows(config, cell, context, mask_problem, ways, partial(scripted_scale, config))


def scripted_scale(config: Rotation, layers: LayerWeights) -> LayerWeights:
    """Standard Gaussians in E at the scales of the authors' scripts; the last one takes that before it."""
    first, second, _ = config.channels
    inputs = (1, first, second, second)
    return tuple(
        layer / (config.size * math.sqrt(count)) for layer, count in zip(layers, inputs, strict=True)
    )


def graph_rows(setting: Permutation, context: CellContext) -> list[dict[str, Any]]:
    """Where AUGMENTED and NOMINAL end in Experiment 1, with which Sec. 5.1 compares rotations."""
    seed = context.run_seed
    problem = graph_problem(setting, seed, DTYPES[setting.precision], context.device)
    rows = []
    for first in range(0, setting.runs, setting.block):
        runs = list(range(first, min(first + setting.block, setting.runs)))
        start = starting_layers(problem, runs, seed)
        for way in (AUGMENTED, NOMINAL):
            result = follow_paths(setting, problem, start, way, runs, seed, setting.epochs, setting.precision)
            ends = path_rows(result, runs, way.name, acted_layers(problem))
            rows += [row for row in ends if row["epoch"] == setting.epochs]
    return rows
