"""The asymmetry along training on few points whose orbits are not complete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from symscope.data.synthetic import coordinate_sum
from symscope.linear import regression_flow, second_moments, weight_split
from symscope.linear.descent import mean_loss_rate
from symscope.linear.weight_parts import coupling
from symscope.runs import CellContext, CellResults
from symscope_papers.linear.few_points.config import FewPoints
from symscope_papers.linear.training import (
    ROUNDING_FLOOR,
    asymmetry_of,
    decay_fit,
    recorded_epochs,
    training_path,
)


def cells(config: FewPoints) -> list[dict[str, Any]]:
    """One cell for each independent measurement."""
    return [{"sample": sample, "sigma": sigma} for sample in range(config.samples) for sigma in config.sigmas]


def measure_cell(config: FewPoints, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    seed = 1000 * context.run_seed + cell["sample"]  # one sample and one start for all noise levels
    toy = coordinate_sum(config.points, seed).noisy(cell["sigma"], seed)
    x, y, group = (t.to(context.device) for t in (toy.features, toy.targets, toy.group))
    start = torch.randn(2, generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64).to(x)
    moments = second_moments(x, y)
    solution = regression_flow(moments.xx, moments.xy)
    record = recorded_epochs(config.epochs, config.records)
    rate = mean_loss_rate(config.learning_rate, len(x), outputs=1)
    times = (rate * record).to(x)
    path = training_path(x, y, start[None], config.learning_rate, record)[:, 0]
    measured = asymmetry_of(path, x, group)
    predicted = asymmetry_of(solution.weights(start, times), x, group)
    floor = asymmetry_of(solution.limit(start)[None], x, group)[0]
    sizes = torch.tensor(measured, dtype=torch.float64)
    slope, straight, used = decay_fit(times.cpu(), sizes)
    # |w - w*| shrinks by at least (1 - eta lambda_min) a step, and the asymmetry of x w is at most |x_k| |w|
    reach = float(torch.linalg.vector_norm(weight_split(x, group).asymmetric, dim=1).mean())
    distance = float((start - solution.limit(start)).norm())
    bound = reach * distance * (1 - rate * float(solution.rates[0])) ** record.double()
    seen = sizes > ROUNDING_FLOOR * sizes[0]
    row = {
        "floor": floor / measured[0],
        "final_asymmetry": measured[-1] / measured[0],
        "over_bound": float((sizes / bound)[seen].max()),
        "fitted_rate": slope,
        "straightness": straight,
        "records_fitted": used,
        "slow_eigenvalue": float(solution.rates[0]),
        "fast_eigenvalue": float(solution.rates[-1]),
        "coupling": coupling(moments.xx, group).relative,
        "descent_against_training": float((solution.descent(start, rate, record) - path).abs().max()),
    }
    paths = [
        {"epoch": int(epoch), "asymmetry": a, "flow": b}
        for epoch, a, b in zip(record.tolist(), measured, predicted, strict=True)
    ]
    return {"paths": paths, "samples": [row]}
