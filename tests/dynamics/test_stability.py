"""The spectrum outside and inside E against dense eigenvalues."""

from __future__ import annotations

import math

import pytest
import torch

from symscope import InputError
from symscope.dynamics import (
    Problem,
    augmented_problem,
    declare,
    drawn_elements,
    equivariant_weights,
    flatten,
    gaussian_weights,
    hessian,
    norm,
    perturbed,
    project,
    residual,
    split,
    squared_loss,
    stability,
    unflatten,
)
from symscope.groups import cyclic, permutation, symmetric, trivial
from tests.dynamics.networks import networks, problem, seeded
from tests.tolerances import LANCZOS, MONTE_CARLO_SIGMAS


def basis_of_e(net):
    return torch.stack(
        [flatten(project(net, unflatten(net, e))) for e in torch.eye(net.parameters, dtype=torch.float64)]
    )


@pytest.mark.parametrize("name", networks())
def test_ends_of_the_spectrum_are_the_dense_ones(name):
    given = problem(name)
    net = given.network
    weights = equivariant_weights(net, seeded(1), scale="preserving")
    found = stability(given, weights, tolerance=1e-12)
    h = hessian(augmented_problem(given), weights)
    projector = basis_of_e(net)
    values, vectors = torch.linalg.eigh(projector)
    inside, outside = vectors[:, values > 0.5], vectors[:, values < 0.5]
    for extremes, basis in ((found.inside, inside), (found.outside, outside)):
        spectrum = torch.linalg.eigvalsh(basis.T @ h @ basis)
        assert extremes.dimension == basis.shape[1]
        assert extremes.lowest == pytest.approx(float(spectrum[0]), abs=LANCZOS)
        assert extremes.highest == pytest.approx(float(spectrum[-1]), abs=LANCZOS)
        for value, layers in (
            (extremes.lowest, extremes.lowest_direction),
            (extremes.highest, extremes.highest_direction),
        ):
            v = flatten(layers)
            assert float(torch.linalg.vector_norm(h @ v - value * v)) < 1e-6
            assert float(norm(layers)) == pytest.approx(1)
        assert extremes.residual < 1e-6
        assert extremes.products > 0
    assert float(split(net, found.outside.lowest_direction).total_equivariant) < LANCZOS
    assert float(split(net, found.inside.lowest_direction).total_residual) < LANCZOS


def test_verdicts_and_penalty():
    """A layer to one number with loss y z^2 / 2 has the curvature one wants: `mean y x x^T`."""
    g = cyclic(3)
    net = declare([permutation(g), trivial(g)])
    x, zero = torch.eye(3, dtype=torch.float64), [torch.zeros(1, 3, dtype=torch.float64)]
    bilinear = lambda p, y: (y * p**2).sum(-1) / 2  # noqa: E731
    for scale, verdict, gamma in ((6.0, "stable", 0.0), (-6.0, "unstable", 1.0), (0.0, "neutral", 0.0)):
        given = Problem(net, bilinear, x, torch.full((3, 1), scale, dtype=torch.float64))
        found = stability(given, zero)
        assert found.verdict == verdict
        assert found.outside.lowest == pytest.approx(scale / 3, abs=1e-12)
        assert found.growth_rate == -found.outside.lowest
        assert found.stabilising_penalty == pytest.approx(gamma)
        assert float(norm(residual(net, found.outside.lowest_direction))) == pytest.approx(1)


def test_where_e_is_everything_or_nothing():
    g = cyclic(2)
    one, x = trivial(g), torch.ones(2, 1, dtype=torch.float64)
    found = stability(Problem(declare([one, one]), squared_loss, x, x), [x[:1]])
    assert found.outside is None
    assert (found.verdict, found.stabilising_penalty, found.growth_rate) == ("stable", 0.0, -math.inf)
    from symscope.groups import from_matrices

    sign = from_matrices(g, torch.tensor([[[1.0]], [[-1.0]]]), name="sign")
    odd = stability(Problem(declare([one, sign]), squared_loss, x, x), [0 * x[:1]])
    assert odd.inside is None
    assert odd.outside.lowest == pytest.approx(1)


def test_sampled_elements_carry_a_standard_error():
    given = problem("S4", samples=3)
    weights = equivariant_weights(given.network, seeded(1), scale="preserving")
    exact = stability(given, weights)
    assert exact.standard_error == 0
    found = stability(given, weights, elements=drawn_elements(given.network.group, 300, seeded(2)))
    assert found.elements == 300
    gap = abs(found.outside.lowest - exact.outside.lowest)
    assert 0 < gap < MONTE_CARLO_SIGMAS * found.standard_error + 0.1 * abs(exact.outside.highest)
    g = symmetric(10)
    v = permutation(g)
    net = declare([v, 2 * v, trivial(g)], "tanh")
    x = torch.randn(5, 10, dtype=torch.float64, generator=seeded(3))
    big = Problem(net, squared_loss, x, x[:, :1])
    start = equivariant_weights(net, seeded(4), scale="preserving")
    with pytest.raises(InputError, match="drawn_elements"):
        stability(big, start)
    assert stability(big, start, elements=drawn_elements(g, 10, seeded(5))).standard_error > 0


def test_layers_off_e_are_refused():
    given = problem("C5")
    with pytest.raises(InputError, match=r"equivariant layers .*take project"):
        stability(given, gaussian_weights(given.network, seeded(0)))


def test_perturbed_moves_by_the_length_asked():
    net = networks()["C5"]
    weights = equivariant_weights(net, seeded(0))
    moved = perturbed(weights, gaussian_weights(net, seeded(1)), 1e-3)
    assert float(norm([a - b for a, b in zip(moved, weights, strict=True)])) == pytest.approx(1e-3)
