"""The result of learning: actions and generators of several seeds, their fields and training curves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.func import functional_call

from symscope.discovery.candidates import OneParameterAction
from symscope.discovery.fields import FunctionField, ParameterField
from symscope.discovery.learned._action_networks import MLPAction, MLPCopy
from symscope.discovery.learned._objective import LearningObjective
from symscope.discovery.learned._parameter_action import (
    ParameterAction,
    action_data,
    action_field,
    identity_and_fields,
)
from symscope.discovery.sampling import ParameterPoints
from symscope.errors import InputError
from symscope.numerics import checked


@checked
@final
@dataclass(frozen=True, eq=False)
class LearnedActions:
    """Actions and generators, one for each seed, and their training curves.

    Attributes:
        action: Architecture of the actions; its own weights are not used.
        weights: Weights of the actions by name, stacked over seeds.
        generators: Generators h of every seed.
        seeds: Seeds of the trainings.
        dependent: Whether the action looks at data.
        objective: Objective that was minimised.
        recorded_steps: Steps at which curves were recorded.
        curves: Held-out terms by name, and "total".
        best: Step with the lowest held-out objective, whose state this is, for each seed.
        stopped_early: Whether training ended because no seed got better.
    """

    action: nn.Module
    weights: dict[str, Tensor]
    generators: Float[Tensor, "s k p p"]
    seeds: tuple[int, ...]
    dependent: bool
    objective: LearningObjective
    recorded_steps: tuple[int, ...]
    curves: dict[str, Float[Tensor, "steps s"]]
    best: Int[Tensor, "s"]
    stopped_early: bool

    def totals(self) -> Float[Tensor, "s"]:
        """The lowest held-out objective of each seed."""
        return self.curves["total"].nan_to_num(nan=float("inf")).min(0).values

    def action_of(self, index: int) -> ParameterAction:
        """The action of one seed, `(g, theta [b, n], data [b, q]) -> [b, n]`."""
        return copy_action(self.action, {name: w[index] for name, w in self.weights.items()})

    def values(self, index: int, points: ParameterPoints) -> Float[Tensor, "k b n"]:
        """All fields of one seed at every point."""
        data = action_data(points.theta, points.x, points.y, self.dependent)
        with torch.no_grad():
            return identity_and_fields(self.action_of(index), self.generators[index], points.theta, data)[1]

    def fields(self, index: int) -> list[ParameterField]:
        """The fields `V_h` of one seed, for verification, flows and brackets."""
        action = self.action_of(index)

        def of(h: Tensor) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
            def value(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
                data = action_data(theta[None], x[None], y[None], self.dependent)
                return action_field(action, h, theta[None], data)[0]

            return value

        kind = "data-dependent" if self.dependent else "data-independent"
        return [
            FunctionField(of(h), f"learned {kind} generator {number + 1}", self.dependent)
            for number, h in enumerate(self.generators[index])
        ]


@checked
def runge_kutta_action(field: ParameterField, steps: int) -> OneParameterAction:
    """The flow of a field in a fixed number of classical fourth-order Runge-Kutta steps, all points at once.

    For fields that are networks an adaptive solver, point by point, takes a hundred times as long.

    Raises:
        InputError: Less than one step.

    >>> from symscope.discovery.fields import linear_field
    >>> grow = linear_field(torch.eye(1, dtype=torch.float64))
    >>> one = torch.ones(1, dtype=torch.float64)
    >>> runge_kutta_action(grow, 20).function(torch.tensor(1.0), one, one[None], one[None]).round(decimals=5)
    tensor([2.7183], dtype=torch.float64)
    """
    if steps < 1:
        raise InputError(f"steps: expected at least 1, got {steps}")

    def runge_kutta(time: Tensor, theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
        step = time / steps
        for _ in range(steps):
            k1 = field(theta, x, y)
            k2 = field(theta + step / 2 * k1, x, y)
            k3 = field(theta + step / 2 * k2, x, y)
            k4 = field(theta + step * k3, x, y)
            theta = theta + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return theta

    return OneParameterAction(runge_kutta, field.name, field.data_dependent, field)


def copy_action(skeleton: nn.Module, state: dict[str, Tensor]) -> ParameterAction:
    """The action of one seed: the architecture with that seed's weights."""
    if isinstance(skeleton, MLPAction):
        return MLPCopy(skeleton, state)
    return lambda g, theta, data: functional_call(skeleton, state, (g, theta, data))
