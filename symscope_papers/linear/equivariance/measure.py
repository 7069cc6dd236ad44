"""2 x 2 weights along gradient descent on labels that swap with the features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from symscope.data.synthetic import swapped_squares
from symscope.linear import orbit_regression, regression_flow, second_moments, weight_split
from symscope.linear.descent import mean_loss_rate
from symscope.runs import CellContext, CellResults
from symscope_papers.linear.equivariance.config import ASYMMETRIC, KINDS, SYMMETRIC, Equivariance
from symscope_papers.linear.training import asymmetry_of, decay_fit, recorded_epochs, training_path


def cells(config: Equivariance) -> list[dict[str, Any]]:
    """One cell for each independent measurement."""
    return [{"shared": kind} for kind in KINDS]


def measure_cell(config: Equivariance, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    toy = swapped_squares(config.points, context.run_seed)
    whole = toy.completed()
    x, y, group = (t.to(context.device) for t in (whole.features, whole.targets, toy.group))
    generator = torch.Generator().manual_seed(context.seed)
    parts = weight_split(
        torch.randn(config.runs, 2, 2, generator=generator, dtype=torch.float64), toy.group, toy.group
    )
    symmetric, asymmetric = parts.symmetric.to(x), parts.asymmetric.to(x)
    if cell["shared"] == "asymmetric":
        asymmetric = asymmetric[:1].expand_as(asymmetric)
    if cell["shared"] == "symmetric":
        symmetric = symmetric[:1].expand_as(symmetric)
    starts = symmetric + asymmetric
    record = recorded_epochs(config.epochs, config.records)
    rate = mean_loss_rate(config.learning_rate, len(y), outputs=2)
    problem = orbit_regression(second_moments(toy.features.to(x), toy.targets.to(x)), group, group)
    solution = regression_flow(problem.k, problem.c)
    path = training_path(x, y, starts, config.learning_rate, record)
    times = rate * record.double()
    paths, runs = [], []
    for run in range(config.runs):
        weights = path[:, run]
        losses = asymmetry_of(weights, x, group, group)
        paths += [
            {"run": run, "epoch": int(epoch), "asymmetry": loss, **_components(w)}
            for epoch, loss, w in zip(record.tolist(), losses, weights.cpu(), strict=True)
        ]
        stepped = solution.descent(starts[run], rate, record)
        limit = solution.limit(starts[run])
        runs.append(
            {
                "run": run,
                **_rates(weights.cpu(), times, solution.rates.cpu(), solution.directions.cpu()),
                "descent_against_training": float((stepped - weights).abs().max()),
                "final_asymmetry": losses[-1] / losses[0],
                "limit_commutator": float((limit @ group[1] - group[1] @ limit).abs().max()),
            }
        )
    return {"paths": paths, "runs": runs}


def _components(w: torch.Tensor) -> dict[str, float]:
    (w11, w12), (w21, w22) = w.tolist()
    values = ((w11 + w22) / 2, (w12 + w21) / 2, (w11 - w22) / 2, (w12 - w21) / 2)
    return dict(zip((*SYMMETRIC, *ASYMMETRIC), values, strict=True))


def _rates(
    weights: torch.Tensor, times: torch.Tensor, eigenvalues: torch.Tensor, directions: torch.Tensor
) -> dict[str, float]:
    """The fitted rate of the asymmetric weights along either eigenvector of K_G, beside its eigenvalue."""
    swap = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=weights.dtype)
    asymmetric = (weights - swap @ weights @ swap) / 2
    result: dict[str, float] = {}
    for i, name in enumerate(("slow", "fast")):
        sizes = torch.linalg.vector_norm(directions[:, i] @ asymmetric, dim=-1)
        rate, straight, _ = decay_fit(times, sizes)
        result |= {
            f"{name}_rate": rate,
            f"{name}_eigenvalue": float(eigenvalues[i]),
            f"{name}_straightness": straight,
        }
    return result
