"""Projection of large layers, all copies at once: against that of symscope.groups."""

from __future__ import annotations

import pytest
import torch

from symscope.dynamics import declare_network
from symscope.dynamics.layer_vectors import project
from symscope.groups import cyclic, direct_product, permutation, symmetric, trivial
from symscope.groups.constructions import from_matrices
from symscope_papers.dynamics.strategies.projection import distances, layer_projections, projected
from tests.dynamics.networks import _pixels
from tests.tolerances import ROUNDING, SINGLE


def networks():
    g = direct_product(cyclic(3), cyclic(2))
    v = permutation(g, _pixels(3, 2))
    s = symmetric(4)
    w = permutation(s)
    c = cyclic(2)
    sign = from_matrices(c, torch.tensor([[[1.0]], [[-1.0]]], dtype=torch.float64))
    return {
        "equal orbits": declare_network([v, 2 * v, 3 * v, trivial(g, 4), trivial(g, 2)]),
        "unequal orbits": declare_network([w * w, 2 * (w * w), trivial(s, 2)]),
        "no orbits": declare_network([permutation(c), sign + trivial(c)], "identity"),
    }


@pytest.mark.parametrize("name", networks())
def test_it_is_the_projection(name):
    network = networks()[name]
    generator = torch.Generator().manual_seed(0)
    layers = tuple(
        torch.randn(2, *shape, generator=generator, dtype=torch.float64) for shape in network.shapes
    )
    own = layer_projections(network, "cpu")
    known = project(network, layers)
    for one, other in zip(projected(own, layers), known, strict=True):
        torch.testing.assert_close(one, other, rtol=ROUNDING, atol=ROUNDING)
    expected = torch.stack([torch.linalg.matrix_norm(a - b) for a, b in zip(layers, known, strict=True)])
    torch.testing.assert_close(distances(own, layers), expected, rtol=ROUNDING, atol=10 * ROUNDING)


def test_projected_layers_in_single_precision_are_in_e_to_double():
    network = networks()["equal orbits"]
    layers = tuple(torch.randn(1, *shape, generator=torch.Generator()) for shape in network.shapes)
    own = layer_projections(network, "cpu")
    inside = projected(own, layers)
    assert {layer.dtype for layer in inside} == {torch.float32}
    assert float(distances(own, inside).max()) < ROUNDING
    assert float(distances(own, layers)[0]) > SINGLE
