"""The ends of the spectrum of Hess R_aug outside E and on E, at the paper's start and after training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symscope.dynamics import gradient_field, stability, training_descent
from symscope.dynamics.risks import nominal_risk
from symscope.numerics import seeded
from symscope.runs import CellContext, CellResults
from symscope_papers.digits import digits
from symscope_papers.dynamics.fig1_problems import averaged, fig1_problem
from symscope_papers.dynamics.spectra.config import Spectra
from symscope_papers.dynamics.strategies.measure import ELEMENTS, starting_layers


def cells(config: Spectra) -> list[dict[str, Any]]:
    """One cell for each task and start; the first start of every task first."""
    if "translation" in config.tasks:
        digits(config.mnist, "test")  # missing files fail here, before anything runs
    return [{"task": task, "run": run} for run in range(config.runs) for task in config.tasks]


def measure_cell(config: Spectra, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    problem = fig1_problem(
        cell["task"],
        config.sizes,
        config.samples,
        mnist=config.mnist,
        seed=context.run_seed,
        device=context.device,
    )
    run = cell["run"]
    elements = averaged(problem, config.elements, seeded(context.run_seed, ELEMENTS, run))
    layers = tuple(layer[0] for layer in starting_layers(problem, [run], context.run_seed))
    rows = []
    for moment in ("start", "trained"):
        ends = stability(
            problem, layers, elements=elements, seed=context.seed % 2**31, tolerance=config.tolerance
        )
        assert ends.outside is not None
        assert ends.inside is not None
        rows.append(
            {
                "moment": moment,
                "lowest": ends.outside.lowest,
                "highest": ends.outside.highest,
                "standard_error": ends.standard_error,
                "residual": ends.outside.residual,
                "lowest_inside": ends.inside.lowest,
                "highest_inside": ends.inside.highest,
                "elements": ends.elements,
                "dimension": ends.outside.dimension,
                "verdict": ends.verdict,
                "risk": float(nominal_risk(problem, layers)),
            }
        )
        if moment == "start":
            field = gradient_field(problem, "equivariant")
            rate = 0.5 / ends.inside.highest
            path = training_descent(
                problem.network, field, layers, rate=rate, steps=config.steps, every=config.steps
            )
            layers = path.weights[-1]
    return {"spectra": rows}
