"""How far augmented training drifts from E: predicted by linearisation, and measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from symscope.dynamics._declared_network import LayerWeights
from symscope.dynamics._training_flow import training_flow
from symscope.dynamics.curvature import hessian_product
from symscope.dynamics.gradients import equivariant_gradient, gradient_field
from symscope.dynamics.layer_vectors import (
    add,
    check_one_in_e,
    flatten,
    norm,
    residual,
    rounding_off_e,
    unflatten,
)
from symscope.dynamics.risks import TrainingProblem, augmented_problem
from symscope.errors import InputError
from symscope.numerics import checked

__all__ = [
    "Drift",
    "drift",
    "growth_rate",
    "perturbed_weights",
    "random_deviation",
]


@checked
@final
@dataclass(frozen=True)
class Drift:
    """`|A_{E_perp}|` along augmented training that starts a little off E.

    Attributes:
        times: Times of the measurements.
        predicted: Sizes from `y' = -Hess R_aug(x) y` along the equivariant flow x(t).
        measured: Sizes from the augmented flow itself.
        weights: The equivariant layers x(t).
    """

    times: tuple[float, ...]
    predicted: Tensor
    measured: Tensor
    weights: tuple[LayerWeights, ...]

    @property
    def error(self) -> float:
        """The largest relative difference between the two."""
        return float(((self.predicted - self.measured).abs() / self.measured).max())

    def rate(self, fraction: float = 0.5) -> float:
        """The measured growth rate: the slope of `log |A_{E_perp}|` over the last part of the times."""
        return growth_rate(self.times, self.measured, fraction)


@checked
def drift(
    problem: TrainingProblem,
    weights: Sequence[Tensor],
    deviation: Sequence[Tensor],
    times: Sequence[float],
    *,
    penalty: float = 0.0,
    elements: Sequence[Any] | None = None,
    rtol: float = 1e-9,
) -> Drift:
    """The drift of the augmented flow from `A + deviation`, beside what linearisation predicts (Section 4.2).

    Args:
        problem: Network, loss and data.
        weights: A, equivariant layers, without an axis of runs.
        deviation: A small step off E; only its part in E_perp is used.
        times: Times to keep, increasing from 0.
        penalty: Factor of the term `penalty |A_{E_perp}|^2` in the risk.
        elements: What augmentation averages over; by default all of the group.
        rtol: Relative accuracy of the solver.

    Raises:
        InputError: Layers outside E, or a deviation inside it.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import declare_network
    >>> from symscope.networks.losses import half_squared_loss
    >>> g = cyclic(2); net = declare_network([permutation(g), trivial(g)])
    >>> x, y = torch.tensor([[1.0, 0.0]]).double(), torch.tensor([[3.0]]).double()
    >>> a, off = [torch.ones(1, 2).double()], [torch.tensor([[1e-4, 0.0]]).double()]
    >>> result = drift(TrainingProblem(net, half_squared_loss, x, y), a, off, [0.0, 1.0, 2.0])
    >>> round(result.rate(), 6), result.error < 1e-6  # falls like exp(-t / 2)
    (-0.5, True)
    """
    network = problem.network
    check_one_in_e(network, weights, rounding_off_e(weights[0].dtype))  # far below the deviation
    off = residual(network, deviation)
    if not float(norm(off)) > 0:
        raise InputError("expected a deviation with a part outside E, got one inside: there is no drift.")
    augmented = augmented_problem(problem, elements)
    size = float(norm(off))
    atol = 1e-6 * size * rtol / math.sqrt(network.parameters)
    field = gradient_field(augmented, "nominal", penalty=penalty)
    actual = training_flow(network, field, add(weights, off), times, rtol=rtol, atol=atol)

    def coupled(state: LayerWeights) -> LayerWeights:
        # two runs side by side: the equivariant flow, and the deviation (scaled to 1) carried along it
        x = tuple(s[0] for s in state)
        y = tuple(s[1] for s in state)
        curved = residual(network, hessian_product(augmented, x)(y))
        forward = equivariant_gradient(problem, x)
        return tuple(
            torch.stack([f, c + 2 * penalty * part]) for f, c, part in zip(forward, curved, y, strict=True)
        )

    state = tuple(torch.stack([w, o / size]) for w, o in zip(weights, off, strict=True))
    linear = training_flow(network, coupled, state, times, rtol=rtol, atol=1e-3 * rtol)
    predicted = torch.stack([size * norm(tuple(s[1] for s in w)) for w in linear.weights])
    path = tuple(tuple(s[0] for s in w) for w in linear.weights)
    return Drift(actual.times, predicted, actual.drift(), path)


@checked
def growth_rate(times: Sequence[float], sizes: Tensor, fraction: float = 0.5) -> float:
    """The slope of `log sizes` against time over the last part of the times, by least squares.

    >>> t = torch.linspace(0, 3, 7)
    >>> round(growth_rate(t.tolist(), torch.exp(-2 * t)), 5)
    -2.0
    """
    count = max(2, math.ceil(fraction * len(times)))
    if len(times) < 2 or len(times) != len(sizes) or not bool((sizes > 0).all()):
        raise InputError(
            f"expected at least two times with positive sizes, got {len(times)} times and {len(sizes)} sizes."
        )
    logs = sizes[-count:].detach().to(torch.float64).log().cpu().numpy()
    return float(np.polyfit(np.array(times[-count:]), logs, 1)[0])


@checked
def random_deviation(problem: TrainingProblem, size: float, generator: torch.Generator) -> LayerWeights:
    """A random step of a given length in E_perp.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import declare_network
    >>> from symscope.networks.losses import half_squared_loss
    >>> g = cyclic(3); net = declare_network([permutation(g), trivial(g)])
    >>> problem = TrainingProblem(net, half_squared_loss, torch.eye(3).double(), torch.ones(3, 1).double())
    >>> off = random_deviation(problem, 1e-6, torch.Generator().manual_seed(0))
    >>> round(norm(off).item(), 12), abs(off[0].sum().item()) < 1e-18
    (1e-06, True)
    """
    network = problem.network
    if network.parameters == network.equivariant_dimension:
        raise InputError(f"expected layers outside E; every layer of {network!r} is equivariant.")
    drawn = torch.randn(network.parameters, generator=generator, dtype=torch.float64)
    off = residual(network, unflatten(network, drawn.to(problem.x)))
    length = float(torch.linalg.vector_norm(flatten(off)))
    return tuple(size / length * part for part in off)


@checked
def perturbed_weights(weights: Sequence[Tensor], direction: LayerWeights, size: float) -> LayerWeights:
    """`A + size * direction`, direction brought to unit length.

    >>> perturbed_weights([torch.zeros(1, 1)], (torch.full((1, 1), 2.0),), 0.5)
    (tensor([[0.5000]]),)
    """
    return add(weights, direction, size / float(norm(direction)))
