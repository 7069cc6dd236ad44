"""Candidates: what they do to points, and their infinitesimal actions."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.discovery.candidates import (
    OneParameterAction,
    Transformation,
    moved_parameters,
    signed_permutation,
    velocities,
)
from symscope.discovery.fields import FunctionField, linear_field
from symscope.discovery.learned import runge_kutta_action
from symscope.discovery.sampling import ParameterPoints
from tests.tolerances import ROUNDING


def _sample():
    generator = torch.Generator().manual_seed(2)
    theta = torch.randn(5, 3, generator=generator, dtype=torch.float64)
    x = torch.randn(5, 2, 1, generator=generator, dtype=torch.float64)
    return ParameterPoints(theta, x, x)


def test_an_action_and_its_field_move_alike():
    M = torch.tensor([[0, 1.0, 0], [-2.0, 0, 0], [0.3, 0, 1.0]]).double()
    field = linear_field(M)
    action = OneParameterAction(lambda t, theta, x, y: torch.linalg.matrix_exp(t * M) @ theta)
    sample = _sample()
    assert torch.allclose(velocities(action, sample), velocities(field, sample), atol=ROUNDING)
    assert torch.allclose(velocities(field, sample), sample.theta @ M.T, atol=ROUNDING)
    assert torch.allclose(
        moved_parameters(action, sample, 0.7), moved_parameters(field, sample, 0.7), atol=10 * ROUNDING
    )


def test_a_flow_in_steps_knows_its_field_and_it_is_the_derivative_of_the_flow():
    bent = FunctionField(lambda theta, x, y: x.sum() * torch.sin(theta), "bent")
    flowing, sample = runge_kutta_action(bent, 3), _sample()
    through = OneParameterAction(flowing.function)
    assert flowing.field is bent
    assert through.field is None
    assert torch.allclose(velocities(flowing, sample), velocities(through, sample), atol=ROUNDING)


def test_transformations_see_their_own_batch():
    shift = Transformation(lambda theta, x, y: theta + x.mean(), "shift", data_dependent=True)
    sample = _sample()
    assert torch.allclose(
        moved_parameters(shift, sample, 1.0) - sample.theta, sample.x.mean((1, 2))[:, None].expand(5, 3)
    )


def test_signed_permutations():
    turned = signed_permutation(torch.tensor([2, 0, 1]), torch.tensor([1.0, -1.0, 1.0]))
    sample = _sample()
    expected = torch.stack([sample.theta[:, 2], -sample.theta[:, 0], sample.theta[:, 1]], 1)
    assert torch.equal(moved_parameters(turned, sample, 1.0), expected)
    with pytest.raises(InputError, match="expected a permutation of 0 to 2"):
        signed_permutation(torch.tensor([2, 0, 2]), torch.ones(3))
