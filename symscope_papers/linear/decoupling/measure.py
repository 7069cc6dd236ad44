"""Weights of runs that share one part of their start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from symscope.data.synthetic import absolute_value
from symscope.linear import weight_split
from symscope.runs import CellContext, CellResults
from symscope_papers.linear.decoupling.config import KINDS, Decoupling
from symscope_papers.linear.training import recorded_epochs, training_path


def cells(config: Decoupling) -> list[dict[str, Any]]:
    """One cell for each independent measurement."""
    return [{"shared": kind} for kind in KINDS]


def measure_cell(config: Decoupling, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    toy = absolute_value(config.points, context.run_seed)
    whole = toy.completed()
    generator = torch.Generator().manual_seed(context.seed)
    parts = weight_split(torch.randn(config.runs, 2, generator=generator, dtype=torch.float64), toy.group)
    if cell["shared"] == "asymmetric":
        starts = parts.symmetric + parts.asymmetric[:1]
    else:
        starts = parts.symmetric[:1] + parts.asymmetric
    x, y, starts = (t.to(context.device) for t in (whole.features, whole.targets, starts))
    record = recorded_epochs(config.epochs, config.records)
    path = weight_split(training_path(x, y, starts, config.learning_rate, record), toy.group)
    # one number each: the component of (1, x) that flips, and the one that does not
    symmetric, asymmetric = path.symmetric[..., 0].cpu(), path.asymmetric[..., 1].cpu()
    return {
        "paths": [
            {
                "run": run,
                "epoch": int(epoch),
                "symmetric": float(symmetric[i, run]),
                "asymmetric": float(asymmetric[i, run]),
            }
            for run in range(config.runs)
            for i, epoch in enumerate(record.tolist())
        ]
    }
