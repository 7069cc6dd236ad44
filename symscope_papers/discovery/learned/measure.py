"""One learned discovery as tables: curves, generators, held-out tests, angles to the exact algebra."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.discovery import ParameterProblem, verify
from symscope.discovery.candidates import OneParameterAction, moved_parameters, velocities
from symscope.discovery.exact import linear_symmetries
from symscope.discovery.fields import field_values
from symscope.discovery.learned import (
    ActionTraining,
    LearnedActions,
    learn_actions,
    runge_kutta_action,
)
from symscope.discovery.loss_derivatives import point_losses
from symscope.discovery.sampling import ParameterPoints
from symscope.runs import CellContext, CellResults
from symscope_papers.discovery.learned.config import LearnedRun, learning_objective
from symscope_papers.discovery.learned.networks import NETWORKS, action_builder, small_problem

OUR_RATE = 3e-3  # of Adam, with objectives of ours
SEEN = 1 << 33  # added to seeds: no point of a training or of `verify` is met again
DATA_POINTS = {"pointwise": 8}  # of each batch; one everywhere else, as in the paper


def cells(config: LearnedRun) -> list[dict[str, Any]]:
    """Every network with every objective and action; `g theta` with the corrected objective alone.

    For `g theta` Eq. 5 is convex in g; as a cosine it is not, and trainings end in local minima. "without W2"
    is asked of the scale-free objective alone: the paper has no such action.
    """
    return [
        {"network": network, "objective": objective, "action": action}
        for network in config.networks
        for objective in config.objectives
        for action in config.actions
        if {"linear": "corrected", "without W2": "scale-free"}.get(action, objective) == objective
    ]


def measure_cell(config: LearnedRun, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Train, test on held-out points, and compare with the exact algebra where the field ignores data."""
    made = small_problem(cell["network"])
    began = time.perf_counter()
    result = _learned(config, cell, made, context)
    seconds = time.perf_counter() - began
    held_out = made.random_points(200, 1, context.seed + 1)
    rows: list[dict[str, Any]] = []
    for index in range(config.seeds):
        rows += _field_rows(config, made, result, index, held_out, context.seed)
    tables: dict[str, list[dict[str, Any]]] = {
        "fields": rows,
        "curves": _curve_rows(result),
        "generators": _generator_rows(made, result, held_out),
        "training": [
            {
                "seconds": seconds,
                "steps": result.recorded_steps[-1],
                "stopped_early": result.stopped_early,
                "per_step": seconds / max(result.recorded_steps[-1], 1),
            }
        ],
    }
    if not config.dependent:
        tables["angles"] = _angle_rows(made, result, held_out, cell["action"])
    return tables


def _learned(
    config: LearnedRun, cell: Mapping[str, Any], made: ParameterProblem, context: CellContext
) -> LearnedActions:
    generators = NETWORKS[cell["network"]].generators
    objective = learning_objective(cell["objective"], dependent=config.dependent, generators=generators)
    point = made.random_points(1, 1, 0)
    columns = int(point.x.numel() + point.y.numel()) if config.dependent else 0
    ours = cell["objective"] != "paper"
    rate = OUR_RATE * (10 if cell["action"] == "linear" else 1)
    settings = ActionTraining(
        steps=config.steps,
        learning_rate=rate if ours else config.learning_rate,
        decay_every=max(config.steps // 3, 1) if ours else config.decay_every,
        points=config.samples,
        minibatch=config.minibatch,
        batch=DATA_POINTS.get(cell["objective"], 1),
    )
    return learn_actions(
        made,
        generators,
        dependent=config.dependent,
        seeds=[context.seed + number for number in range(config.seeds)],
        objective=objective,
        training=settings,
        action=action_builder(cell["action"], made, columns),
    )


def _field_rows(
    config: LearnedRun,
    made: ParameterProblem,
    result: LearnedActions,
    index: int,
    held_out: ParameterPoints,
    seed: int,
) -> list[dict[str, Any]]:
    """Held-out tests of every field of one seed, and in which layers it moves."""
    rows = []
    values = result.values(index, held_out)
    for number, field in enumerate(result.fields(index)):
        flowing = runge_kutta_action(field, config.flow_steps)
        test = verify(
            made,
            flowing,
            seed=seed,
            points=config.points,
            batch_sizes=(1,),
            lengths=(0.1, 0.5),
            tolerance=config.tolerance,
        )
        moved = values[number]
        shares = {
            f"share_W{k}": float(
                moved[:, made.layout.indices(f"W{k}.weight").flatten()].square().sum() / moved.square().sum()
            )
            if f"W{k}.weight" in made.layout.names
            else None
            for k in (1, 2, 3)
        }
        rows.append(
            {
                "seed": index,
                "generator": number,
                "length": moved.norm(dim=1).mean(),
                "derivative": test.derivative,
                "loss_drift": test.loss_drift,
                "random_loss_drift": test.random_loss_drift,
                "drift_ratio": test.loss_drift / test.random_loss_drift,
                "chance": test.chance,
                "failures": test.failures,
                "points": test.points,
                "judgement": test.verdict.name,
                "group_law": test.group_law,
                "data_dependence": test.data_dependence,
                **seen_and_other(made, flowing, config.points, seed),
                **shares,
            }
        )
    return rows


def seen_and_other(
    made: ParameterProblem, action: OneParameterAction, count: int, seed: int, length: float = 0.1
) -> dict[str, float]:
    """Loss changes of the data point an action sees and of another one, at the same moved parameters.

    Args:
        made: Network and loss.
        action: Action, which moves every point by its own data.
        count: Number of held-out points.
        seed: Seed for drawing points.
        length: How far parameters move, as a share of their norm.

    Returns:
        Root mean square changes, and the one-sided sign test's chance that the seen loss changes less at so
        many points: if the action ignores the data, both change alike.
    """
    points, other = (made.random_points(count, 1, seed + SEEN + k, held_out=True) for k in (0, 1))
    speed = velocities(action, points).norm(dim=1).square().mean().sqrt()
    norm = points.theta.norm(dim=1).square().mean().sqrt()
    there = moved_parameters(action, points, float(length * norm / speed) if float(speed) > 0 else 1.0)
    both = (points, ParameterPoints(points.theta, other.x, other.y))
    seen, unseen = ((point_losses(made, p.at(there)) - point_losses(made, p)).abs()[:, 0] for p in both)
    less = int((seen < unseen).sum())
    return {
        "seen_change": float(seen.square().mean().sqrt()),
        "other_change": float(unseen.square().mean().sqrt()),
        "sign_chance": sum(math.comb(count, k) for k in range(less, count + 1)) / 2**count,
    }


def _curve_rows(result: LearnedActions) -> list[dict[str, Any]]:
    return [
        {
            "seed": seed,
            "step": step,
            **{name: float(curve[look, seed]) for name, curve in result.curves.items()},
        }
        for seed in range(len(result.seeds))
        for look, step in enumerate(result.recorded_steps)
    ]


def _generator_rows(
    made: ParameterProblem, result: LearnedActions, sample: ParameterPoints
) -> list[dict[str, Any]]:
    """Learned matrices, and the matrix M of the field itself: the best fit of `V(theta) = M theta`."""
    names = [made.layout.entry(i).replace(".weight", "") for i in range(made.size)]
    rows = []
    for seed in range(len(result.seeds)):
        values = result.values(seed, sample)
        for number, (h, field) in enumerate(zip(result.generators[seed], values, strict=True)):
            matrix = torch.linalg.lstsq(sample.theta, field).solution.T
            left = (field - sample.theta @ matrix.T).square().sum() / field.square().sum()
            for i, row in enumerate(names):
                for j, column in enumerate(names):
                    rows.append(
                        {
                            "seed": seed,
                            "generator": number,
                            "row": row,
                            "column": column,
                            "learned": h[i, j] / h.abs().max(),
                            "field": matrix[i, j] / matrix.abs().max(),
                            "unexplained": left,
                        }
                    )
    return rows


def _angle_rows(
    made: ParameterProblem, result: LearnedActions, sample: ParameterPoints, action: str
) -> list[dict[str, Any]]:
    """Angles, in degrees, to the exact orbit at held-out parameters: of each field, and of their span.

    Where fields are nearly parallel, the span's last direction is what they differ in, however small: its
    angle says that there are fewer directions than fields, not that a field leaves the orbit.
    """
    exact = linear_symmetries(made, seed=0, affine=False).fields
    tangents = torch.stack([field_values(field, sample) for field in exact])
    randomness = torch.Generator().manual_seed(result.seeds[0])
    shape = (result.generators.shape[1], *sample.theta.shape)
    random = torch.randn(shape, generator=randomness, dtype=torch.float64)
    algebra = torch.stack([field.dense(made.size).flatten() for field in exact], 1)
    rows = []
    for seed in range(len(result.seeds)):
        values = result.values(seed, sample)
        angles = largest_angle(values, tangents)
        alone = torch.stack([largest_angle(field[None], tangents) for field in values])
        spans = result.generators[seed].flatten(1).T if action == "linear" else None
        rows.append(
            {
                "seed": seed,
                "exact_dimension": len(exact),
                "field_angle": alone.median(1).values.max(),
                "random_field_angle": largest_angle(random[:1], tangents).median(),
                "alike": likeness(values).median() if len(values) > 1 else None,
                "median_angle": angles.median(),
                "upper_angle": angles.quantile(0.9),
                "random_angle": largest_angle(random, tangents).median(),
                "matrix_angle": None if spans is None else matrix_angle(spans, algebra),
            }
        )
    return rows


def largest_angle(fields: Float[Tensor, "k b n"], tangents: Float[Tensor, "m b n"]) -> Float[Tensor, "b"]:
    """Largest principal angle, in degrees, between the span of fields and that of tangents at each point.

    >>> fields = torch.tensor([[[1.0, 1.0]]], dtype=torch.float64)
    >>> tangents = torch.tensor([[[1.0, 0.0]]], dtype=torch.float64)
    >>> round(float(largest_angle(fields, tangents)), 6)
    45.0
    """
    return torch.stack([matrix_angle(fields[:, b].T, tangents[:, b].T) for b in range(fields.shape[1])])


def likeness(fields: Float[Tensor, "k b n"]) -> Float[Tensor, "b"]:
    """Mean absolute cosine of two fields at each point: 1 where all are parallel, 0 where orthogonal.

    >>> likeness(torch.tensor([[[1.0, 0.0]], [[-2.0, 0.0]]], dtype=torch.float64))
    tensor([1.], dtype=torch.float64)
    """
    unit = torch.nn.functional.normalize(fields, dim=-1)
    i, j = torch.triu_indices(len(fields), len(fields), 1)
    return (unit[i] * unit[j]).sum(-1).abs().mean(0)


def matrix_angle(inner: Float[Tensor, "n k"], outer: Float[Tensor, "n m"]) -> Float[Tensor, ""]:
    """Largest principal angle, in degrees, of the columns' spans: how far `inner` sticks out of `outer`."""
    left, _, _ = torch.linalg.svd(inner, full_matrices=False)
    right, sizes, _ = torch.linalg.svd(outer, full_matrices=False)
    right = right[:, sizes > 1e-9 * sizes[0]]
    outside = left - right @ (right.T @ left)  # sines are exact where angles are small, cosines are not
    return torch.rad2deg(torch.asin(torch.linalg.matrix_norm(outside, 2).clamp(max=1.0)))
