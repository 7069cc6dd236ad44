"""Training from layers outside E: distance from E, equivariance of the function, and risk, along the way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from symscope.dynamics import TrainingProblem, gradient_field, training_descent
from symscope.dynamics.averaged_elements import drawn_elements
from symscope.dynamics.layer_vectors import LayerWeights, equivariant_split, gaussian_weights, project
from symscope.dynamics.risks import augmented_problem, nominal_risk
from symscope.numerics import seeded
from symscope.runs import CellContext, CellResults
from symscope_papers.digits import digits
from symscope_papers.dynamics.fig1_problems import fig1_problem
from symscope_papers.dynamics.ordinary.config import Ordinary
from symscope_papers.dynamics.strategies.measure import ELEMENTS, START

STRATEGIES = ("nominal", "augmented", "equivariant")
TEST = 3  # a stream of the run's seed beside START and ELEMENTS
TESTED = 8  # elements that tests average over


def cells(config: Ordinary) -> list[dict[str, Any]]:
    """One cell for each task and start."""
    if "translation" in config.tasks:
        digits(config.mnist, "test")  # missing files fail here, before anything runs
    return [{"task": task, "run": run} for task in config.tasks for run in range(config.runs)]


def measure_cell(config: Ordinary, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    whole = fig1_problem(
        cell["task"],
        config.sizes,
        config.samples,
        mnist=config.mnist,
        seed=context.run_seed,
        device=context.device,
    )
    train, held_out = held_out_batches(whole)
    seed, run, network = context.run_seed, cell["run"], whole.network
    tested = drawn_elements(network.group, TESTED, seeded(seed, TEST, run))
    start = gaussian_weights(network, seeded(seed, START, run), scale="preserving", device=context.device)
    every = math.ceil(config.steps / config.looks)
    rows = []
    for strategy in STRATEGIES:
        drawn: dict[str, Any] = {}
        if strategy == "augmented":
            drawn = {"passes": config.passes, "generator": seeded(seed, ELEMENTS, run)}
        path = training_descent(
            network,
            gradient_field(train, strategy, **drawn),
            project(network, start) if strategy == "equivariant" else start,
            rate=config.rates[config.tasks.index(cell["task"])],
            steps=config.steps,
            every=every,
        )
        for look, layers in enumerate(path.weights):
            split = equivariant_split(network, layers)
            rows.append(
                {
                    "strategy": strategy,
                    "step": min(look * every, config.steps),
                    "passes": drawn.get("passes", 1),
                    "inside": float(split.total_equivariant),
                    "outside": float(split.total_residual),
                    "error": equivariance_error(held_out, layers, tested),
                    "risk": float(nominal_risk(train, layers)),
                    "moved_risk": float(nominal_risk(augmented_problem(held_out, tested), layers)),
                }
            )
    return {"ordinary": rows}


def held_out_batches(problem: TrainingProblem) -> tuple[TrainingProblem, TrainingProblem]:
    """The same problem without the first quarter of its mini-batches, and with only them."""
    count = max(1, len(problem.x) // 4)
    return tuple(
        TrainingProblem(problem.network, problem.loss, problem.x[part], problem.y[part])
        for part in (slice(count, None), slice(count))
    )  # type: ignore[return-value]


def equivariance_error(problem: TrainingProblem, layers: LayerWeights, elements: Sequence[Any]) -> float:
    """`|f(g x) - g f(x)| / |f(x)|`, root mean square over samples and elements; 0 for layers in E."""
    network = problem.network
    with torch.no_grad():
        plain = network.forward(layers, problem.x)
        total = torch.stack(
            [
                (
                    network.forward(layers, network.sources[0].act(g, problem.x))
                    - network.targets[-1].act(g, plain)
                )
                .square()
                .mean()
                for g in elements
            ]
        )
    return float((total.mean() / plain.square().mean()).sqrt())
