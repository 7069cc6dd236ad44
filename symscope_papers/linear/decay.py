"""The asymmetry of a linear model trained on symmetric data falls exponentially (Fig. 1a)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor

from symscope.data.synthetic import absolute_value
from symscope.errors import InputError
from symscope.linear import OrbitRegression, RegressionFlow, orbit_regression, regression_flow, second_moments
from symscope.linear.descent import mean_loss_rate
from symscope.linear.weight_parts import invariant_weights
from symscope.numerics import ode_flow
from symscope.report import COLOURS, INK, new_figure, style
from symscope.runs import CellContext, CellResults, Claim, Experiment, Plot, Preset, RunTables
from symscope_papers.linear import PAPER
from symscope_papers.linear.training import asymmetry_of, decay_fit, dress_asymmetry, recorded_epochs, trained


@final
@dataclass(frozen=True)
class Decay:
    """Config of `linear/decay`: how many points, runs and epochs of gradient descent."""

    points: int = 100
    runs: int = 10
    learning_rate: float = 1e-2
    epochs: int = 6000
    records: int = 200

    def __post_init__(self) -> None:
        if min(self.points, self.runs, self.epochs) < 1 or self.records < 4:
            raise InputError(
                f"points, runs, epochs, records: expected at least 1, and 4 records, got {self.points}, "
                f"{self.runs}, {self.epochs}, {self.records}"
            )
        if not 0 < self.learning_rate < 1:  # 2 / lambda_max of the mean squared error, features (1, x)
            raise InputError(
                f"learning_rate: expected above 0 and below the stable bound 1, got {self.learning_rate}"
            )


def _cells(config: Decay) -> list[dict[str, Any]]:
    return [{"run": run} for run in range(config.runs)]


def _cell(config: Decay, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    toy = absolute_value(config.points, context.run_seed)
    whole = toy.completed()
    device = context.device
    x, y, group = (t.to(device) for t in (whole.features, whole.targets, toy.group))
    problem = orbit_regression(second_moments(toy.features.to(device), toy.targets.to(device)), group)
    solution = regression_flow(problem.k, problem.c)
    start = torch.randn(2, generator=torch.Generator().manual_seed(context.seed), dtype=torch.float64)
    start = start.to(device)
    record = recorded_epochs(config.epochs, config.records)
    rate = mean_loss_rate(config.learning_rate, len(x))
    times = (rate * record).to(device)
    path = trained(x, y, start[None], config.learning_rate, record)[:, 0]
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


def _claims(config: Decay, tables: RunTables) -> list[Claim]:
    runs = tables["runs"]
    error = (runs["fitted_rate"] / runs["eigenvalue"] - 1).abs().max()
    return [
        Claim.at_least(
            "The asymmetry loss falls exponentially.",
            "Fig. 1a, Theorem 3.3.3",
            float(runs["straightness"].min()),
            0.999,
            why="R² of a straight line through its logarithm, the worst run; the threshold is ours.",
        ),
        Claim.at_most(
            "It falls at the rate of the eigenvalue of K_G on the asymmetric weights.",
            "Theorem 3.3.3",
            float(error),
            0.01,
            why="Relative, the worst run. Gradient descent itself is faster than the flow by half of the "
            "learning rate times the eigenvalue.",
        ),
        Claim.at_most(
            "The closed form of Eq. 3 is the integrated flow.",
            "Eq. 3",
            float(runs["flow_against_integration"].max()),
            1e-9,
            why="Largest difference of a weight from a Runge-Kutta solution of order 8.",
        ),
        Claim.at_most(
            "With (I - ηK)^k for the exponential it is gradient descent itself.",
            "Eq. 3, Assumption 2",
            float(runs["descent_against_training"].max()),
            1e-9,
            why="Largest difference of a weight from torch.optim.SGD, over all recorded epochs.",
        ),
        Claim.at_most(
            "Every run ends invariant.",
            "Corollary 3.4",
            float(runs["limit_asymmetry"].max()),
            1e-12,
            why="Asymmetry loss of the limit; training itself ended at "
            f"{runs['final_asymmetry'].max():.2g} of the start, or less. The threshold is ours.",
        ),
    ]


def _plots(config: Decay, tables: RunTables) -> list[Plot]:
    paths = tables["paths"]
    figure = new_figure(7.2, 4.2)
    with style():
        axes = figure.subplots()
        for i, (_, part) in enumerate(paths.groupby("run", sort=True)):
            seen = part[part["asymmetry"] > 1e-17]  # rounding may end at zero, which has no logarithm
            axes.plot(seen["epoch"], seen["asymmetry"], color=COLOURS[i % len(COLOURS)], linewidth=1.4)
            shown = part[part["flow"] > 1e-16]
            name = "gradient flow, Eq. 3" if i == 0 else None
            axes.plot(shown["epoch"], shown["flow"], ":", color=INK, linewidth=0.9, label=name)
        dress_asymmetry(axes)
        axes.legend(loc="upper right", title="a colour: one run")
    return [
        Plot(
            name="decay",
            figure=figure,
            title="Asymmetry loss while |x| is learned",
            source="Fig. 1a",
            alt="Line chart of the asymmetry loss against epochs on a logarithmic axis: one straight "
            "falling line per run, all parallel, each on the dotted line of the theory.",
            caption="Features (1, x), both (x, y) and (−x, y) in the data. Lines are straight and "
            "parallel: one rate for every start. They bend only where rounding takes over, near 1e-16.",
        )
    ]


decay = Experiment(
    id="linear/decay",
    paper=PAPER,
    figure="Fig. 1a",
    shows="A linear model trained on symmetric data becomes invariant, exponentially fast, at a rate "
    "known beforehand.",
    config=Decay,
    presets={
        "quick": Preset(Decay(points=50, runs=5, records=100), "ten seconds"),
        "paper": Preset(Decay(), "half a minute"),
    },
    cells=_cells,
    measure=_cell,
    plot=_plots,
    claims=_claims,
)
