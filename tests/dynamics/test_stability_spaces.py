"""Coordinates of E and E_perp against the projections."""

from __future__ import annotations

import pytest
import torch

from symscope.dynamics._stability_spaces import complement, complement_with_basis, equivariant_space
from symscope.dynamics.layer_vectors import flatten, gaussian_weights, project, residual
from tests.dynamics.networks import networks, seeded

SPACES = {
    "E": (equivariant_space, project),
    "E_perp": (complement, residual),
    "E_perp with basis": (complement_with_basis, residual),
}


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("name", networks())
def test_coordinates_are_those_of_the_projection(name, kind):
    net = networks()[name]
    make, projection = SPACES[kind]
    space = make(net)
    weights = gaussian_weights(net, seeded(0), runs=(3,))
    numbers = space.numbers(weights)
    assert numbers.shape == (3, space.size)
    assert torch.allclose(flatten(space.layers(numbers)), flatten(projection(net, weights)), atol=1e-12)
    assert torch.allclose(numbers.norm(dim=-1), flatten(projection(net, weights)).norm(dim=-1))
    basis = space.numbers(space.layers(torch.eye(space.size, dtype=torch.float64)))
    assert int(torch.linalg.matrix_rank(basis)) == space.dimension
    inside = net.equivariant_dimension
    assert space.dimension == (inside if kind == "E" else net.parameters - inside)
