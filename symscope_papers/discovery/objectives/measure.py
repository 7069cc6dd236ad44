"""Defects of the conditions on true actions, and trainings with both forms of the objective."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from symscope.discovery import verify
from symscope.discovery.learned import (
    SCALE_FREE,
    ActionTraining,
    LearningObjective,
    LinearAction,
    ParameterAction,
    action_field,
    bracket_defect,
    eq7_defect,
    field_derivative,
    integrated_defect,
    learn_actions,
    runge_kutta_action,
)
from symscope.runs import CellContext, CellResults
from symscope_papers.discovery.learned.networks import small_problem
from symscope_papers.discovery.objectives.config import Objectives

NETWORK = "linear 1-2-1"
STEPS = 12


def projective(g: Tensor, theta: Tensor, data: Tensor) -> Tensor:
    """A true nonlinear action of 2 x 2 matrices: `(a theta + b) / (c theta + d)` on every coordinate."""
    top = g[..., 0, 0] * theta + g[..., 0, 1]
    return top / (g[..., 1, 0] * theta + g[..., 1, 1])


def expansion_defect(h1: Tensor, h2: Tensor) -> Tensor:
    """Second-order term of `exp(e h2) exp(e h1)` that App. A.2 writes, minus the true one, over the latter.

    >>> h = torch.diag(torch.tensor([1.0, -1.0]))  # they commute, so that the paper has no such term
    >>> float(expansion_defect(h, h))
    1.0
    """
    true = (h1 @ h1 + h2 @ h2) / 2 + h2 @ h1
    return ((h1 @ h2 - h2 @ h1) / 2 - true).norm() / true.norm()


def cells(config: Objectives) -> list[dict[str, Any]]:
    """One cell for each independent measurement."""
    cells = [{"part": "defects", "what": name} for name in ("gθ", "projective", "g⁻¹θ, no left action")]
    cells += [{"part": "form", "what": name} for name in ("infinitesimal", "integrated")]
    return cells + [{"part": "orthogonality", "what": name} for name in ("squared", "signed")]


def measure_cell(config: Objectives, cell: Mapping[str, Any], context: CellContext) -> CellResults:
    """Rows of one cell."""
    if cell["part"] == "defects":
        return {"defects": _defects(config, cell["what"], context.seed)}
    if cell["part"] == "form":
        return {"forms": [_form(config, cell["what"], context.seed)]}
    return {"orthogonality": _orthogonality(config, cell["what"], context.seed)}


def _defects(config: Objectives, name: str, seed: int) -> list[dict[str, Any]]:
    """Sizes of the three conditions, relative to the second-order term `DV_h2 . V_h1` they compare."""
    actions: dict[str, tuple[ParameterAction, int]] = {
        "gθ": (LinearAction(), 3),
        "projective": (projective, 2),
        "g⁻¹θ, no left action": (lambda g, theta, data: theta @ torch.linalg.inv(g).mT, 3),
    }
    action, size = actions[name]
    randomness = torch.Generator().manual_seed(seed)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=randomness, dtype=torch.float64) / 3

    rows = []
    for number in range(config.draws):
        h1, h2, theta = drawn(size, size), drawn(size, size), drawn(8, 3)
        none = theta[:, :0]
        scale = field_derivative(action, h2, action_field(action, h1, theta, none), theta, none).norm()
        rows.append(
            {
                "draw": number,
                "bracket": bracket_defect(action, h1, h2, theta, none).norm() / scale,
                "eq7": eq7_defect(action, h1, h2, theta, none).norm() / scale,
                "integrated": integrated_defect(action, h1, h2, theta, none).norm() / scale,
                "expansion": expansion_defect(h1, h2),
            }
        )
    return rows


def _form(config: Objectives, form: str, seed: int) -> dict[str, Any]:
    """The same network, weights and steps with either form."""
    made = small_problem(NETWORK)
    settings = ActionTraining(
        config.steps, 3e-3, decay_every=max(config.steps // 3, 1), points=config.samples
    )
    objective = replace(SCALE_FREE, form=form, invariance="eq5", time=0.5)
    began = time.process_time()  # not the clock on the wall: other programs' work is none of ours
    result = learn_actions(made, 2, dependent=False, seeds=[seed], objective=objective, training=settings)
    seconds = time.process_time() - began
    tests = [
        verify(made, runge_kutta_action(field, STEPS), seed=seed, points=config.points, batch_sizes=(1,))
        for field in result.fields(0)
    ]
    return {
        "seconds_per_step": seconds / config.steps,
        "length": result.values(0, made.random_points(200, 1, seed + 1)).norm(dim=-1).mean(),
        "derivative": max(test.derivative or 0.0 for test in tests),
        "drift_ratio": max(test.loss_drift / test.random_loss_drift for test in tests),
    }


def _orthogonality(config: Objectives, name: str, seed: int) -> list[dict[str, Any]]:
    """The cosine of two generators after training with the action g theta."""
    made = small_problem(NETWORK)
    settings = ActionTraining(
        config.steps, 2e-2, decay_every=max(config.steps // 3, 1), points=config.samples
    )
    result = learn_actions(
        made,
        2,
        dependent=False,
        seeds=[seed, seed + 1, seed + 2],
        objective=LearningObjective(orthogonality=name),
        training=settings,
        action=lambda seed: LinearAction(),
    )
    flat = result.generators.flatten(2)
    cosines = torch.cosine_similarity(flat[:, 0], flat[:, 1], dim=1)
    return [{"seed": number, "cosine": cosine} for number, cosine in enumerate(cosines.tolist())]
