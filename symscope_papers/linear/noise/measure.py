"""The asymmetry along training on noisy labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from symscope.data.synthetic import absolute_value
from symscope.linear import regression_flow, second_moments, weight_split
from symscope.linear.descent import mean_loss_rate
from symscope.runs import CellContext, CellResults
from symscope_papers.linear.noise.config import KINDS, Noise
from symscope_papers.linear.training import asymmetry_of, decay_fit, recorded_epochs, training_path


def cells(config: Noise) -> list[dict[str, Any]]:
    """One cell for each independent measurement."""
    return [{"noise": kind, "sigma": sigma} for kind in KINDS for sigma in config.sigmas]


def measure_cell(config: Noise, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    toy = absolute_value(config.points, context.run_seed)
    seed = context.run_seed + 1
    if cell["noise"] == "orbit":
        whole = toy.noisy(cell["sigma"], seed).completed()  # Assumption 1 still holds
    else:
        whole = toy.completed().noisy(cell["sigma"], seed)
    x, y, group = (t.to(context.device) for t in (whole.features, whole.targets, toy.group))
    generator = torch.Generator().manual_seed(context.run_seed + 2)
    start = torch.randn(2, generator=generator, dtype=torch.float64).to(x)
    moments = second_moments(x, y)
    solution = regression_flow(moments.xx, moments.xy)
    record = recorded_epochs(config.epochs, config.records)
    times = (mean_loss_rate(config.learning_rate, len(x), outputs=1) * record).to(x)
    path = training_path(x, y, start[None], config.learning_rate, record)[:, 0]
    asymmetric = weight_split(path, group).asymmetric[:, 1]
    end = weight_split(solution.limit(start), group).asymmetric[1]
    slope, straight, used = decay_fit(times.cpu(), (asymmetric - end).abs().cpu())
    measured = asymmetry_of(path, x, group)
    row = {
        "fitted_rate": slope,
        "straightness": straight,
        "records_fitted": used,
        "eigenvalue": float(solution.rates[0]),
        "floor": asymmetry_of(solution.limit(start)[None], x, group)[0],
        "first_asymmetry": measured[0],
        "final_asymmetry": measured[-1],
    }
    paths = [
        {"epoch": int(epoch), "asymmetry": a, "asymmetric_weight": float(w)}
        for epoch, a, w in zip(record.tolist(), measured, asymmetric, strict=True)
    ]
    return {"paths": paths, "levels": [row]}
