"""The asymmetry along gradient descent on |x|, beside the closed form of the flow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from symscope.data.synthetic import absolute_value
from symscope.linear import OrbitRegression, RegressionFlow, orbit_regression, regression_flow, second_moments
from symscope.linear.descent import mean_loss_rate
from symscope.linear.weight_parts import invariant_weights
from symscope.numerics import ode_flow
from symscope.runs import CellContext, CellResults
from symscope_papers.linear.decay.config import Decay
from symscope_papers.linear.training import asymmetry_of, decay_fit, recorded_epochs, training_path


def cells(config: Decay) -> list[dict[str, Any]]:
    """One cell for each independent measurement."""
    return [{"run": run} for run in range(config.runs)]


def measure_cell(config: Decay, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    toy = absolute_value(config.points, context.run_seed)
    whole = toy.completed()
    device = context.device
    x, y, group = (t.to(device) for t in (whole.features, whole.targets, toy.group))
    problem = orbit_regression(second_moments(toy.features.to(device), toy.targets.to(device)), group)
    solution = regression_flow(problem.k, problem.c)
    start = torch.randn(2, generator=torch.Generator().manual_seed(context.seed), dtype=torch.float64)
    start = start.to(device)
    record = recorded_epochs(config.epochs, config.records)
    rate = mean_loss_rate(config.learning_rate, len(x), outputs=1)
    times = (rate * record).to(device)
    path = training_path(x, y, start[None], config.learning_rate, record)[:, 0]
    flown, stepped = solution.weights(start, times), solution.descent(start, rate, record)
    measured, predicted = asymmetry_of(path, x, group), asymmetry_of(flown, x, group)
    slope, straight, used = decay_fit(times.cpu(), torch.tensor(measured, dtype=torch.float64))
    asymmetric = _rate_on_kernel(problem)
    paths = [
        {"epoch": int(epoch), "asymmetry": a, "flow": b}
        for epoch, a, b in zip(record.tolist(), measured, predicted, strict=True)
    ]
    row = {
        "fitted_rate": slope,
        "straightness": straight,
        "records_fitted": used,
        "eigenvalue": asymmetric,
        "flow_against_integration": _integration_gap(problem, solution, start, float(times[-1])),
        "descent_against_training": float((stepped - path).abs().max()),
        "final_asymmetry": measured[-1] / measured[0],
        "limit_asymmetry": asymmetry_of(solution.limit(start)[None], x, group)[0],
    }
    return {"paths": paths, "runs": [row]}


def _rate_on_kernel(problem: OrbitRegression) -> float:
    """The eigenvalue of K_G on the weights that are not invariant: one direction, here."""
    features = problem.features
    assert isinstance(features, Tensor)
    fixed = invariant_weights(features)
    away = torch.linalg.qr(fixed, mode="complete").Q[:, fixed.shape[1] :].to(problem.k)
    return float(torch.linalg.eigvalsh(away.mT @ problem.k @ away)[0])


def _integration_gap(problem: OrbitRegression, solution: RegressionFlow, start: Tensor, last: float) -> float:
    """The largest difference between the closed form and a Runge-Kutta solution of order 8."""
    times = torch.linspace(0, last, 25, dtype=torch.float64)
    path = ode_flow(lambda w: problem.c - problem.k @ w, start, times.tolist(), rtol=1e-12, atol=1e-13)
    return float((solution.weights(start, times) - path.states).abs().max())
