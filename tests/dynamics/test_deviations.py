"""Predicted and measured drift."""

from __future__ import annotations

import math

import pytest
import torch

from symscope import InputError
from symscope.dynamics import TrainingProblem, declare_network, drift, equivariant_weights
from symscope.dynamics.deviations import growth_rate, random_deviation
from symscope.dynamics.layer_vectors import equivariant_split, norm
from symscope.groups import cyclic, permutation, trivial
from symscope.networks.losses import half_squared_loss
from tests.dynamics.networks import problem, seeded
from tests.tolerances import ODE


def saddle(rate: float) -> TrainingProblem:
    """One layer whose augmented Hessian is `-rate` times the identity."""
    g = cyclic(3)
    x = torch.eye(3, dtype=torch.float64)
    y = torch.full((3, 1), -3 * rate, dtype=torch.float64)
    return TrainingProblem(
        declare_network([permutation(g), trivial(g)]), lambda p, y: (y * p**2).sum(-1) / 2, x, y
    )


@pytest.mark.parametrize(("rate", "penalty"), [(0.5, 0.0), (-0.5, 0.0), (0.5, 0.25), (0.5, 0.4)])
def test_drift_grows_at_the_rate_of_the_curvature(rate, penalty):
    given = saddle(rate)
    off = random_deviation(given, 1e-6, seeded(0))
    start = [torch.zeros(1, 3, dtype=torch.float64)]
    result = drift(given, start, off, [0.0, 1.0, 2.0], penalty=penalty)
    expected = rate - 2 * penalty
    assert result.rate() == pytest.approx(expected, abs=1e-6)
    exact = 1e-6 * torch.tensor([1.0, math.exp(expected), math.exp(2 * expected)]).double()
    assert torch.allclose(result.measured, exact, rtol=1e-6, atol=0)
    assert result.error < 1e-6


@pytest.mark.parametrize("name", ["C5", "D4"])
def test_prediction_errs_at_second_order(name):
    given = problem(name)
    start = equivariant_weights(given.network, seeded(1), scale="preserving")
    gaps = []
    for size in (1e-2, 5e-3):
        off = random_deviation(given, size, seeded(2))
        result = drift(given, start, off, [0.0, 0.5])
        gaps.append(float((result.predicted - result.measured).abs()[-1]) / size)
    assert gaps[1] < 0.7 * gaps[0] < 0.05
    tiny = drift(given, start, random_deviation(given, 1e-7, seeded(2)), [0.0, 0.5])
    assert tiny.error < 1e-5
    assert float(equivariant_split(given.network, tiny.weights[-1]).total_residual) < ODE


def test_bad_input():
    given = problem("C5")
    start = equivariant_weights(given.network, seeded(1))
    with pytest.raises(InputError, match="part outside E"):
        drift(given, start, [0 * w for w in start], [0.0, 1.0])
    with pytest.raises(InputError, match="two times with positive sizes"):
        growth_rate([0.0, 1.0], torch.tensor([1.0, 0.0]))
    g = cyclic(2)
    whole = TrainingProblem(
        declare_network([trivial(g), trivial(g)]), half_squared_loss, torch.ones(2, 1), torch.ones(2, 1)
    )
    with pytest.raises(InputError, match=r"every layer of .* is equivariant"):
        random_deviation(whole, 1.0, seeded(0))


def test_random_deviations_have_the_size_asked():
    given = problem("S4")
    off = random_deviation(given, 1e-3, seeded(0))
    assert float(norm(off)) == pytest.approx(1e-3)
    assert float(equivariant_split(given.network, off).total_equivariant) < 1e-15


def test_layers_outside_e_are_refused():
    given = problem("C5")
    off = random_deviation(given, 1e-6, seeded(2))
    start = equivariant_weights(given.network, seeded(1), scale="preserving")
    with pytest.raises(InputError, match=r"expected layers in E .*got 1e-06 of .*project"):
        drift(given, [a + b for a, b in zip(start, off, strict=True)], off, [0.0, 1.0])
    with pytest.raises(InputError, match="without an axis of runs"):
        drift(given, [a[None] for a in start], off, [0.0, 1.0])
