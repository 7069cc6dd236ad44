"""Flows and descent against closed forms."""

from __future__ import annotations

import math

import pytest
import torch

from symscope import InputError
from symscope.dynamics import (
    TrainingProblem,
    declare_network,
    equivariant_weights,
    gradient_field,
    training_descent,
    training_flow,
)
from symscope.dynamics.layer_vectors import flatten, gaussian_weights, norm, subtract
from symscope.groups import cyclic, permutation, trivial
from symscope.networks.losses import half_squared_loss
from tests.dynamics.networks import problem, seeded
from tests.tolerances import ODE, ROUNDING


def regression() -> tuple[TrainingProblem, torch.Tensor, torch.Tensor]:
    """One linear layer: `dA/dt = -(A K - C)` with K, C the second moments."""
    g = cyclic(4)
    v = permutation(g)
    x = torch.randn(7, 4, dtype=torch.float64, generator=seeded(0))
    y = torch.randn(7, 2, dtype=torch.float64, generator=seeded(1))
    return (
        TrainingProblem(declare_network([v, trivial(g, 2)]), half_squared_loss, x, y),
        x.T @ x / 7,
        y.T @ x / 7,
    )


def test_flow_is_the_matrix_exponential():
    given, second, cross = regression()
    start = gaussian_weights(given.network, seeded(2))
    flow = training_flow(given.network, gradient_field(given, "nominal"), start, [0.5, 2.0])
    assert flow.times == (0.0, 0.5, 2.0)
    limit = cross @ torch.linalg.inv(second)
    for time, weights in zip(flow.times, flow.weights, strict=True):
        exact = limit + (start[0] - limit) @ torch.linalg.matrix_exp(-time * second)
        assert torch.allclose(weights[0], exact, atol=ODE)


def test_descent_is_the_power_and_keeps_what_was_asked():
    given, second, cross = regression()
    start = gaussian_weights(given.network, seeded(2), runs=(3,))
    path = training_descent(
        given.network, gradient_field(given, "nominal"), start, rate=0.1, steps=25, every=10
    )
    assert path.times == pytest.approx((0.0, 1.0, 2.0, 2.5))
    limit = cross @ torch.linalg.inv(second)
    step = torch.eye(4, dtype=torch.float64) - 0.1 * second
    exact = limit + (start[0] - limit) @ torch.linalg.matrix_power(step, 25)
    assert torch.allclose(path.weights[-1][0], exact, atol=ROUNDING)
    assert path.drift().shape == path.travelled().shape == (4, 3)
    assert torch.allclose(path.travelled()[-1], norm(subtract(path.weights[-1], start)))


def test_runs_flow_as_they_do_alone():
    given = problem("C5")
    start = equivariant_weights(given.network, seeded(2), runs=(2,), scale="preserving")
    field = gradient_field(given, "augmented")
    both = training_flow(given.network, field, start, [0.3])
    alone = training_flow(given.network, field, [w[1] for w in start], [0.3])
    assert torch.allclose(flatten(both.weights[-1])[1], flatten(alone.weights[-1]), atol=ODE)


def test_descent_approaches_the_flow_at_first_order():
    given = problem("D4")
    start = gaussian_weights(given.network, seeded(2), scale="preserving")
    field = gradient_field(given, "nominal")
    exact = training_flow(given.network, field, start, [0.2]).weights[-1]
    gaps = []
    for steps in (100, 200):
        path = training_descent(given.network, field, start, rate=0.2 / steps, steps=steps)
        gaps.append(float(norm(subtract(path.weights[-1], exact))))
    assert gaps[0] / gaps[1] == pytest.approx(2.0, rel=0.1)


def test_bad_input():
    given, _, _ = regression()
    start, field = gaussian_weights(given.network, seeded(2)), gradient_field(given, "nominal")
    with pytest.raises(InputError, match="increasing times"):
        training_flow(given.network, field, start, [1.0, 1.0])
    with pytest.raises(InputError, match=r"rate: expected a positive number, got 0\.0"):
        training_descent(given.network, field, start, rate=0.0, steps=3)
    with pytest.raises(InputError, match=r"no longer finite after \d+ steps"):
        training_descent(given.network, field, start, rate=1e9, steps=400, every=50)
    with pytest.raises(InputError, match="could not be followed"):
        training_flow(given.network, explosive, start, [100.0])


def test_a_flow_that_slides_along_a_kink_is_given_up():
    """`|w|` has slopes 1 and -1: from 1 the flow comes to 0 at time 1 and stays, which no step can do."""
    g = cyclic(2)
    net = declare_network([trivial(g), trivial(g)])
    one = torch.ones(1, 1, dtype=torch.float64)
    [end] = training_flow(net, lambda weights: tuple(w.sign() for w in weights), (one,), [0.5]).weights[-1]
    assert float(end) == pytest.approx(0.5, abs=ODE)
    with pytest.raises(InputError, match=r"came to time 1\S* of 2 in 3,000 evaluations: it may slide"):
        training_flow(net, lambda weights: tuple(w.sign() for w in weights), (one,), [2.0], evaluations=3000)


def explosive(weights):
    """Reaches infinity in finite time."""
    return tuple(-(w**2) - 1 for w in weights)


def test_a_start_that_is_not_finite_is_refused():
    given, _, _ = regression()
    field = gradient_field(given, "nominal")
    start = [torch.full((2, 4), torch.nan, dtype=torch.float64)]
    with pytest.raises(InputError, match="layer 0 has NaN"):
        training_flow(given.network, field, start, [1.0])
    with pytest.raises(InputError, match="layer 0 has NaN"):
        training_descent(given.network, field, start, rate=0.1, steps=2)
    with pytest.raises(InputError, match="increasing times"):
        training_flow(given.network, field, gaussian_weights(given.network, seeded(2)), [0.0, math.nan, 1.0])


def test_a_tolerance_below_the_rounding_of_single_precision_is_blamed():
    wide = problem("C5")
    given = TrainingProblem(wide.network, wide.loss, wide.x.float(), wide.y.float())
    start = gaussian_weights(given.network, seeded(2), dtype=torch.float32)
    field = gradient_field(given, "nominal")
    with pytest.raises(
        InputError, match=r"rounded to 1e-07 \(torch.float32\), above the tolerance .*float64"
    ):
        training_flow(given.network, field, start, [1.0], evaluations=2000)
    assert training_flow(given.network, field, start, [0.1], rtol=1e-4, atol=1e-6).evaluations < 2000
