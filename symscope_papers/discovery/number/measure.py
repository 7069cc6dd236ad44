"""Directions that keep every loss, counted along a training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Generator, Tensor

from symscope.discovery import DataSource
from symscope.discovery.exact import fibre_dimension
from symscope.runs import CellContext, CellResults
from symscope_papers.discovery.exact.networks import known_network
from symscope_papers.discovery.number.config import Number

NOISE = 0.1  # of targets, so that no sample's gradient vanishes at the end


def swap_data(kind: str) -> DataSource:
    """Inputs of a kind, and targets sin(x1 + x2), which the swap of the two numbers keeps, with noise.

    >>> x, _ = swap_data("closed under the swap")(4, torch.Generator().manual_seed(0))
    >>> bool((x[2:] == x[:2].flip(1)).all())
    True
    """

    def draw(count: int, generator: Generator) -> tuple[Tensor, Tensor]:
        x = torch.randn(count, 2, generator=generator, dtype=torch.float64)
        if kind == "closed under the swap":
            half = -(-count // 2)
            x = torch.cat([x[:half], x[:half].flip(1)])[:count]
        elif kind == "kept by the swap":
            x = x[:, :1].expand(count, 2).clone()
        noise = torch.randn(count, 1, generator=generator, dtype=torch.float64)
        return x, torch.sin(x.sum(1, keepdim=True)) + NOISE * noise

    return draw


def cells(config: Number) -> list[dict[str, Any]]:
    """One training for each network, kind of data and seed."""
    return [
        {"network": network, "data": data, "number": seed}
        for network in config.networks
        for data in config.data
        for seed in config.seeds
    ]


def measure_cell(config: Number, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one training by gradient descent."""
    problem = replace(known_network(cell["network"]).problem, data=swap_data(cell["data"]))
    seed = context.seed % 10**6
    theta = problem.random_points(1, 1, seed).theta[0]
    x, y = problem.data(config.samples, Generator().manual_seed(seed + 1))
    slope = torch.func.grad(lambda point: problem.losses(point, x, y).mean())
    rows, step = [], 0
    for wanted in config.steps:
        while step < wanted:
            theta, step = theta - config.learning_rate * slope(theta), step + 1
        rows.append(
            {
                "step": step,
                "loss": problem.losses(theta, x, y).mean(),
                "directions": fibre_dimension(problem, theta, seed=seed),
                "parameters": problem.size,
            }
        )
    return {"counts": rows}
