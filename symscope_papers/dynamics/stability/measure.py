"""Growth and drift of a part outside E along training, measured and predicted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from symscope.dynamics import (
    TrainingProblem,
    drift,
    gradient_field,
    stability,
    training_descent,
    training_flow,
)
from symscope.dynamics.deviations import growth_rate, perturbed_weights, random_deviation
from symscope.dynamics.layer_vectors import LayerWeights
from symscope.runs import CellContext, CellResults
from symscope_papers.dynamics.random_problems import taught_problem
from symscope_papers.dynamics.stability.config import Stability

PROBE = 1e-6  # a deviation small against the layers, large against rounding


def cells(config: Stability) -> list[dict[str, Any]]:
    """Two layers, where E may be a saddle; and one layer, whose convex risk makes it stable."""
    return [
        {"group": name, "layers": layers, "problem": k}
        for layers in (2, 1)
        for name in config.groups
        for k in range(config.seeds if layers == 2 else 1)
    ]


def measure_cell(config: Stability, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    generator = torch.Generator().manual_seed(context.seed)
    problem, start = taught_problem(cell["group"], config.samples, generator, cell["layers"])
    off = random_deviation(problem, config.deviation, generator)
    times = _times(config)
    result = drift(problem, start, off, times, rtol=1e-10)
    spectrum, rates = [], []
    for time, weights in zip(result.times, result.weights, strict=True):
        ends = stability(problem, weights, seed=context.seed % 2**31)
        assert ends.outside is not None
        assert ends.inside is not None
        for part, extremes in (("outside", ends.outside), ("inside", ends.inside)):
            spectrum.append(
                {
                    "time": time,
                    "part": part,
                    "lowest": extremes.lowest,
                    "highest": extremes.highest,
                    "dimension": extremes.dimension,
                    "residual": extremes.residual,
                    "products": extremes.products,
                    "verdict": ends.verdict,
                }
            )
        # not their difference: a single layer may have one eigenvalue only
        largest = max(abs(ends.outside.highest), abs(ends.outside.lowest))
        for end, value, direction in (
            ("lowest", ends.outside.lowest, ends.outside.lowest_direction),
            ("highest", ends.outside.highest, ends.outside.highest_direction),
        ):
            seen = _measured_rate(problem, weights, direction, 1e-3 / largest)
            rates.append(
                {
                    "time": time,
                    "end": end,
                    "predicted": -value,
                    "measured": seen,
                    "largest": largest,
                    "verdict": ends.verdict,
                }
            )
    measured = zip(result.times, result.predicted.tolist(), result.measured.tolist(), strict=True)
    return {
        "spectrum": spectrum,
        "rates": rates,
        "drift": [{"time": t, "predicted": p, "measured": m} for t, p, m in measured],
        "noise": _noise(config, problem, start, generator),
    }


def _times(config: Stability) -> list[float]:
    """0, then times that grow by a constant factor from a hundredth of the horizon to the horizon."""
    count = config.moments - 1
    return [0.0, *(config.horizon * 100 ** (k / max(count - 1, 1) - 1) for k in range(count))]


def _measured_rate(
    problem: TrainingProblem, weights: LayerWeights, direction: LayerWeights, time: float
) -> float:
    """The growth rate of `|A_{E_perp}|` over a short augmented flow, from a step along one direction."""
    field = gradient_field(problem, "augmented")
    off = perturbed_weights(weights, direction, PROBE)
    path = training_flow(problem.network, field, off, [time], rtol=1e-12, atol=1e-20)
    return growth_rate(path.times, path.drift())


def _noise(
    config: Stability, problem: TrainingProblem, start: LayerWeights, generator: torch.Generator
) -> list[dict[str, Any]]:
    """Drift after a few small steps from E: nominal, exactly augmented, and augmented by sampled elements."""
    network = problem.network

    def end(strategy: str, **options: Any) -> float:
        field = gradient_field(problem, strategy, **options)
        path = training_descent(
            network, field, start, rate=config.rate, steps=config.steps, every=config.steps
        )
        return float(path.drift()[-1])

    nominal, exact = end("nominal"), end("augmented")
    rows = []
    for passes in config.passes:
        ends = [end("augmented", passes=passes, generator=generator) for _ in range(config.repeats)]
        rows.append(
            {
                "passes": passes,
                "nominal": nominal,
                "exact": exact,
                "sampled": math.sqrt(sum(e**2 for e in ends) / len(ends)),
                "predicted": nominal / math.sqrt(config.steps * passes),
            }
        )
    return rows
