"""Training with a penalty on the part outside E, and the smallest penalty that stabilises E."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import torch

from symscope.dynamics import (
    TrainingProblem,
    Trajectory,
    equivariant_weights,
    gradient_field,
    stability,
    training_descent,
)
from symscope.dynamics.deviations import random_deviation
from symscope.dynamics.layer_vectors import LayerWeights, add, norm, subtract
from symscope.runs import CellContext, CellResults
from symscope_papers.dynamics.penalty.config import DEVIATION, Penalty
from symscope_papers.dynamics.penalty.problems import KINDS, minimum_inside


def cells(config: Penalty) -> list[dict[str, Any]]:
    """One cell for each independent measurement."""
    return [
        {"group": name, "kind": kind, "problem": k}
        for name in config.groups
        for kind in KINDS
        for k in range(config.seeds)
    ]


def measure_cell(config: Penalty, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    generator = torch.Generator().manual_seed(context.seed)
    problem, weights = minimum_inside(cell["kind"], cell["group"], config.samples, generator)
    ends = stability(problem, weights, seed=context.seed % 2**31)
    assert ends.outside is not None
    assert ends.inside is not None
    gamma, speed = ends.stabilising_penalty, abs(ends.growth_rate)
    # the largest curvature any of the penalties makes: descent must not overshoot there
    stiffest = max(ends.inside.highest, ends.outside.highest + 6 * gamma)
    descent = Descent(0.5 / stiffest, math.ceil(config.times / speed * stiffest / 0.5))
    inside = equivariant_weights(problem.network, generator)
    off = add(weights, random_deviation(problem, DEVIATION, generator))
    off = add(off, inside, DEVIATION / float(norm(inside)))
    paths = []
    for multiple in config.multiples if ends.verdict == "unstable" else ():
        path = _path(problem, off, multiple * gamma, descent, looks=12)
        for time, distance, at in zip(path.times, path.drift().tolist(), path.weights, strict=True):
            paths.append(
                {
                    "multiple": multiple,
                    "scaled_time": time * speed,
                    "distance": distance,
                    "to_minimum": float(norm(subtract(at, weights))),
                }
            )
    along = add(weights, ends.outside.lowest_direction, DEVIATION)
    measured = _smallest(problem, along, 3 * gamma, descent, config.bisections) if gamma else 0.0
    result = {
        "lowest": ends.outside.lowest,
        "lowest_inside": ends.inside.lowest,
        "verdict": ends.verdict,
        "predicted": gamma,
        "measured": measured,
    }
    return {"penalties": [result], "paths": paths}


@final
@dataclass(frozen=True)
class Descent:
    """Learning rate and number of steps of a training."""

    rate: float
    steps: int


def _path(
    problem: TrainingProblem, start: LayerWeights, gamma: float, descent: Descent, looks: int
) -> Trajectory:
    field = gradient_field(problem, "augmented", penalty=gamma)
    every = math.ceil(descent.steps / looks)
    return training_descent(
        problem.network, field, start, rate=descent.rate, steps=descent.steps, every=every
    )


def _smallest(
    problem: TrainingProblem, start: LayerWeights, high: float, descent: Descent, bisections: int
) -> float:
    """The penalty at which the distance from E neither grows nor falls, by bisection on a short training."""
    low = 0.0
    short = Descent(descent.rate, math.ceil(descent.steps / 24))
    for _ in range(bisections):
        middle = (low + high) / 2
        sizes = _path(problem, start, middle, short, looks=1).drift()
        low, high = (middle, high) if bool(sizes[-1] > sizes[0]) else (low, middle)
    return (low + high) / 2
