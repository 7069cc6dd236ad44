"""Stationary points of the equivariant risk."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from symscope import InputError
from symscope.dynamics import TrainingProblem, declare_network, equivariant_weights
from symscope.dynamics.gradients import equivariant_gradient, nominal_gradient
from symscope.dynamics.layer_vectors import (
    gaussian_weights,
    norm,
)
from symscope.dynamics.risks import nominal_risk
from symscope.groups import cyclic, permutation
from symscope.networks.losses import binary_cross_entropy_loss, half_squared_loss, soft_cross_entropy_loss
from symscope_papers.dynamics.minima import equivariant_minimum, stationary_targets
from tests.dynamics.networks import problem, seeded


def test_a_linear_layer_has_the_circulant_least_squares_solution():
    v = permutation(cyclic(4))
    x = torch.randn(9, 4, dtype=torch.float64, generator=seeded(0))
    y = torch.randn(9, 4, dtype=torch.float64, generator=seeded(1))
    given = TrainingProblem(declare_network([v, v]), half_squared_loss, x, y)
    result = equivariant_minimum(given, gaussian_weights(given.network, seeded(2)))
    shifts = torch.stack([x.roll(k, 1).flatten() for k in range(4)], dim=1)
    taps = torch.linalg.lstsq(shifts, y.flatten()[:, None]).solution[:, 0]
    exact = sum(taps[k] * torch.eye(4, dtype=torch.float64).roll(k, 0) for k in range(4))
    assert torch.allclose(result[0], exact, atol=1e-9)


def test_the_gradient_vanishes_and_the_risk_is_lower():
    given = problem("C5", samples=30)
    start = equivariant_weights(given.network, seeded(2), scale="preserving")
    # near a teacher: with labels that are all noise, weights would go to infinity
    given = replace(given, y=given.network.forward(start, given.x) + 0.2 * given.y)
    result = equivariant_minimum(given, start)
    assert float(norm(equivariant_gradient(given, result))) < 1e-11
    assert float(nominal_risk(given, result)) < float(nominal_risk(given, start))


@pytest.mark.parametrize("loss", [half_squared_loss, soft_cross_entropy_loss, binary_cross_entropy_loss])
def test_targets_make_layers_stationary_for_e_alone(loss):
    given = replace(problem("C5", samples=8), loss=loss)
    layers = equivariant_weights(given.network, seeded(2), scale="preserving")
    result = stationary_targets(given, layers)
    assert float(norm(equivariant_gradient(given, layers))) > 1e-3
    assert float(norm(equivariant_gradient(result, layers))) < 1e-13
    assert float(norm(nominal_gradient(result, layers))) > 1e-3


def test_bad_input():
    given = problem("C5")
    start = equivariant_weights(given.network, seeded(2), scale="preserving")
    with pytest.raises(InputError, match=r"no stationary point .* within 1 steps"):
        equivariant_minimum(given, start, steps=1, tolerance=0.0)
    with pytest.raises(InputError, match="one batch with at least 20 target numbers"):
        stationary_targets(problem("C5", samples=3), start)
    cubic = lambda p, y: (p - y).pow(4).sum(-1)  # noqa: E731
    with pytest.raises(InputError, match="affine in the targets"):
        stationary_targets(replace(given, loss=cubic), start)
    v = permutation(cyclic(40))
    wide = TrainingProblem(
        declare_network([6 * v, 5 * v]), half_squared_loss, torch.ones(2, 240), torch.ones(2, 200)
    )
    with pytest.raises(InputError, match="at most 1000 coordinates of E, got 1200"):
        equivariant_minimum(wide, [torch.zeros(200, 240)])
