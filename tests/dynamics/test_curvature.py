"""Hessian products against torch's own dense Hessian."""

from __future__ import annotations

import pytest
import torch

import symscope.dynamics.gradients as gradients_module
from symscope import InputError
from symscope.dynamics import TrainingProblem, declare_network
from symscope.dynamics.curvature import hessian, hessian_product
from symscope.dynamics.layer_vectors import flatten, gaussian_weights, unflatten
from symscope.dynamics.risks import augmented_problem, nominal_risk
from symscope.groups import cyclic, permutation
from tests.dynamics.networks import networks, problem, seeded
from tests.tolerances import ROUNDING


@pytest.mark.parametrize("name", networks())
def test_hessian_is_that_of_torch(name, monkeypatch):
    given = augmented_problem(problem(name, samples=3))
    net = given.network
    weights = gaussian_weights(net, seeded(0), scale="preserving")
    dense = torch.func.hessian(lambda v: nominal_risk(given, unflatten(net, v)))(flatten(weights))
    result = hessian(given, weights)
    assert torch.allclose(result, dense, atol=ROUNDING)
    monkeypatch.setattr(gradients_module, "LARGEST_PIECE_BYTES", {"cpu": 1})
    direction = gaussian_weights(net, seeded(1))
    product = hessian_product(given, weights)(direction)
    assert torch.allclose(flatten(product), dense @ flatten(direction), atol=1e-11)


def test_a_linear_risk_has_no_curvature():
    v = permutation(cyclic(3))
    x = torch.eye(3, dtype=torch.float64)
    given = TrainingProblem(declare_network([v, v]), lambda p, y: p.sum(-1), x, x)
    assert float(hessian(given, gaussian_weights(given.network, seeded(0))).abs().max()) == 0


def test_bad_input():
    given = problem("C5")
    with pytest.raises(InputError, match="without an axis of runs"):
        hessian_product(given, gaussian_weights(given.network, seeded(0), runs=(2,)))
    v = permutation(cyclic(64))
    wide = declare_network([v, v, v])
    large = TrainingProblem(wide, given.loss, torch.eye(64), torch.eye(64))
    with pytest.raises(InputError, match="at most 4000 parameters"):
        hessian(large, gaussian_weights(wide, seeded(0)))
