"""Training as motion of the layers: gradient flow by an ODE solver, and gradient descent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final

import torch
from torch import Tensor

from symscope.dynamics._declared_network import (
    DeclaredNetwork,
    LayerWeights,
    check_finite_layers,
    check_layer_weights,
)
from symscope.dynamics.gradients import GradientField
from symscope.dynamics.layer_vectors import add, equivariant_split, flatten, norm, subtract, unflatten
from symscope.errors import InputError
from symscope.numerics import check_count, checked, ode_flow

MOST_STEPS = 10**8  # of one descent: months of the smallest network
EVALUATIONS = 100_000  # of the field in one flow: smooth ones take hundreds to thousands


@final
@dataclass(frozen=True)
class Trajectory:
    """Layers at some times.

    Attributes:
        network: The declaration they belong to.
        times: Increasing, from 0; for descent, learning rate times steps.
        weights: The layers at each time.
        evaluations: Number of gradients computed.
    """

    network: DeclaredNetwork
    times: tuple[float, ...]
    weights: tuple[LayerWeights, ...]
    evaluations: int

    def drift(self) -> Tensor:
        """`|A_{E_perp}|` at each time, `[times, *runs]`."""
        return torch.stack([equivariant_split(self.network, w).total_residual for w in self.weights])

    def travelled(self) -> Tensor:
        """`|A - A_0|` at each time, `[times, *runs]`."""
        return torch.stack([norm(subtract(w, self.weights[0])) for w in self.weights])


@checked
def training_flow(
    network: DeclaredNetwork,
    field: GradientField,
    weights: Sequence[Tensor],
    times: Sequence[float],
    *,
    rtol: float = 1e-10,
    atol: float = 1e-13,
    evaluations: int = EVALUATIONS,
) -> Trajectory:
    """The solution of `dA/dt = -field(A)` by an embedded Runge-Kutta method of order 8 (scipy's DOP853).

    Where slopes jump (ReLU), a flow may run into a kink from both sides and slide along it; no step is then
    small enough, and the solver gives up.

    Args:
        network: Declaration of the layers.
        field: The gradient to follow, see `gradient_field`.
        weights: Layers at time 0, float64; an axis of runs is solved together.
        times: Times to keep, increasing and not negative; 0 is added in front when it is missing.
        rtol: Relative accuracy of a step.
        atol: Absolute accuracy of a step.
        evaluations: Most evaluations of the field.

    Raises:
        InputError: Times that do not increase, a start that is not finite, or a solution that cannot be
            continued.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import TrainingProblem, declare_network, gradient_field
    >>> from symscope.networks.losses import half_squared_loss
    >>> g = cyclic(2); net = declare_network([trivial(g), trivial(g)])
    >>> one = torch.ones(1, 1, dtype=torch.float64)
    >>> problem = TrainingProblem(net, half_squared_loss, one, 0 * one)
    >>> flow = training_flow(net, gradient_field(problem, "nominal"), (one,), [0.0, 1.0])
    >>> round(flow.weights[-1][0].item(), 8)  # exp(-1)
    0.36787944
    """
    check_layer_weights(network, weights)
    check_finite_layers(weights)
    moments = _moments(times)
    start = flatten(weights).detach()
    path = ode_flow(
        lambda flat: -flatten(field(unflatten(network, flat))),
        start,
        moments,
        rtol=rtol,
        atol=atol,
        evaluations=evaluations,
        remedy=_obstacle(start.dtype, rtol),
    )
    layers = tuple(unflatten(network, state) for state in path.states)
    return Trajectory(network, tuple(moments), layers, path.evaluations)


@checked
def training_descent(
    network: DeclaredNetwork,
    field: GradientField,
    weights: Sequence[Tensor],
    *,
    rate: float,
    steps: int,
    every: int = 1,
) -> Trajectory:
    """The iterates `A <- A - rate field(A)`, kept every so many steps.

    Args:
        network: Declaration of the layers.
        field: The gradient to follow, see `gradient_field`.
        weights: Layers at step 0, any dtype, with or without an axis of runs.
        rate: Learning rate.
        steps: Number of steps.
        every: How often layers are kept; the first and the last always are.

    Raises:
        InputError: A rate or number of steps that is not positive, or layers that are not finite or stop
            being so.

    >>> from symscope.groups import cyclic, trivial
    >>> from symscope.dynamics import TrainingProblem, declare_network, gradient_field
    >>> from symscope.networks.losses import half_squared_loss
    >>> g = cyclic(2); net = declare_network([trivial(g), trivial(g)])
    >>> one = torch.ones(1, 1)
    >>> field = gradient_field(TrainingProblem(net, half_squared_loss, one, 0 * one), "nominal")
    >>> training_descent(net, field, (one,), rate=0.5, steps=3).weights[-1]
    (tensor([[0.1250]]),)
    """
    check_layer_weights(network, weights)
    check_finite_layers(weights)
    if not 0 < rate < math.inf:
        raise InputError(f"rate: expected a positive number, got {rate}.")
    check_count("every", every)
    check_count("steps", steps, 1, MOST_STEPS)
    layers: LayerWeights = tuple(w.detach() for w in weights)
    times, kept = [0.0], [layers]
    for step in range(1, steps + 1):
        layers = add(layers, field(layers), -rate)
        if step % every == 0 or step == steps:
            if not all(bool(w.isfinite().all()) for w in layers):
                raise InputError(
                    f"the layers are no longer finite after {step} steps of rate {rate:g}: lower the rate."
                )
            times.append(rate * step)
            kept.append(layers)
    return Trajectory(network, tuple(times), tuple(kept), steps)


def _obstacle(dtype: torch.dtype, rtol: float) -> str:
    """Why a flow may come so slowly, and what to do."""
    rounding = torch.finfo(dtype).eps
    if rounding > rtol:
        return (
            f"its gradients are rounded to {rounding:.1g} ({dtype}), above the tolerance rtol = {rtol:g}. "
            f"Give layers and data in float64, or an rtol above {100 * rounding:.1g}"
        )
    return (
        "it may slide along a kink, where the slope of a nonlinearity jumps. Use a smooth one (tanh, "
        "softplus, gelu), gradient_descent, or allow more evaluations"
    )


def _moments(times: Sequence[float]) -> list[float]:
    moments = [float(t) for t in times]
    if moments and moments[0] != 0:
        moments.insert(0, 0.0)
    if len(moments) < 2 or not all(a < b for a, b in pairwise(moments)) or not math.isfinite(moments[-1]):
        raise InputError(f"expected increasing times after 0, got {list(times)}.")
    return moments
