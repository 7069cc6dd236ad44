"""Projection, the induced action, and initial layers."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import InputError
from symscope.dynamics import declare_network, equivariant_weights
from symscope.dynamics.layer_vectors import (
    add,
    check_equivariant,
    coordinates,
    equivariant_split,
    flatten,
    from_coordinates,
    gaussian_weights,
    inner,
    norm,
    project,
    residual,
    rounding_off_e,
    transform,
    unflatten,
)
from symscope.groups import cyclic, dihedral, from_matrices, irreps, permutation, symmetric
from tests.dynamics.networks import networks, plane, seeded
from tests.tolerances import MONTE_CARLO_SIGMAS, ROUNDING

ALL = {**networks(), "plane": declare_network([plane(), 2 * plane(), plane()], "identity")}


@pytest.mark.parametrize("name", ALL)
def test_projection_is_the_mean_over_the_group(name):
    net = ALL[name]
    weights = gaussian_weights(net, seeded(0), runs=(2,))
    moved = [flatten(transform(net, g, weights)) for g in net.group.elements]
    assert torch.allclose(flatten(project(net, weights)), torch.stack(moved).mean(dim=0), atol=ROUNDING)


@given(seed=st.integers(0, 10**6), name=st.sampled_from(sorted(ALL)))
def test_split_is_orthogonal_and_the_action_is_a_unitary_action(seed, name):
    net = ALL[name]
    generator = seeded(seed)
    a, b = gaussian_weights(net, generator), gaussian_weights(net, generator)
    sizes = equivariant_split(net, a)
    assert torch.allclose(sizes.total_equivariant**2 + sizes.total_residual**2, norm(a) ** 2)
    assert torch.allclose(sizes.total_residual, norm(residual(net, a)))
    assert torch.allclose(torch.linalg.vector_norm(sizes.residual), sizes.total_residual)
    assert abs(float(inner(residual(net, a), project(net, b)))) < ROUNDING * float(norm(a) * norm(b))
    g, h = net.group.sample(2, generator)
    once = transform(net, net.group.multiply(g, h), a)
    twice = transform(net, g, transform(net, h, a))
    assert torch.allclose(flatten(once), flatten(twice), atol=ROUNDING)
    assert torch.allclose(inner(transform(net, g, a), transform(net, g, b)), inner(a, b))


def test_transform_is_conjugation_by_matrices():
    net = ALL["plane"]
    weights = gaussian_weights(net, seeded(4))
    for g in net.group.elements:
        for i, moved in enumerate(transform(net, g, weights)):
            w, v = net.targets[i](g), net.sources[i](g)
            assert torch.allclose(moved, w @ weights[i] @ torch.linalg.inv(v), atol=ROUNDING)


def test_initial_layers_have_the_law_of_projected_gaussians():
    v = permutation(symmetric(4))
    net = declare_network([v, v])
    drawn = flatten(equivariant_weights(net, seeded(0), runs=(4000,)))
    projector = torch.stack(
        [flatten(project(net, unflatten(net, e))) for e in torch.eye(16, dtype=torch.float64)]
    )
    covariance = drawn.T @ drawn / len(drawn)
    assert float((covariance - projector).abs().max()) < MONTE_CARLO_SIGMAS * (2 / 4000) ** 0.5


def test_preserving_scale_keeps_the_size_of_signals():
    v = permutation(cyclic(7))
    net = declare_network([v, 8 * v], "identity")
    for draw in (equivariant_weights, gaussian_weights):
        weights = draw(net, seeded(1), runs=(400,), scale="preserving")
        sizes = weights[0].square().sum(dim=(1, 2)) / 56
        assert abs(float(sizes.mean()) - 1) < MONTE_CARLO_SIGMAS * float(sizes.std()) / 20


def test_float32_and_flat_layers_round_trip():
    net = ALL["D4"]
    weights = equivariant_weights(net, seeded(1), runs=(3,), dtype=torch.float32)
    assert weights[0].dtype == torch.float32
    assert all(torch.equal(a, b) for a, b in zip(unflatten(net, flatten(weights)), weights, strict=True))
    assert float(norm(add(weights, weights, -1.0)).max()) == 0


def test_single_precision_layers_are_split_in_double_precision():
    """What is constant on orbits is in E whatever its precision: the split must not add rounding."""
    v = permutation(cyclic(97))
    net = declare_network([v, 2 * v], "identity")
    weights = equivariant_weights(net, seeded(3), runs=(2,), dtype=torch.float32)
    assert float(equivariant_split(net, weights).total_residual.max()) < 1e-12
    assert float(norm(residual(net, weights)).max()) > 1e-7  # the same in float32 arithmetic
    weights[0][1, 3, 5] += 2**-20
    assert float(equivariant_split(net, weights).total_residual[1]) == pytest.approx(2**-20, rel=0.02)


def test_bad_input():
    net = ALL["C5"]
    with pytest.raises(InputError, match="scale standard or preserving, got 'large'"):
        equivariant_weights(net, seeded(0), scale="large")
    with pytest.raises(InputError, match=r"expected \[..., 100\] numbers"):
        unflatten(net, torch.zeros(3))
    with pytest.raises(InputError, match="layer 0 of shape"):
        project(net, [torch.zeros(5, 5), torch.zeros(5, 10)])


def test_rounded_layers_are_still_in_e():
    g = dihedral(5)
    rep = from_matrices(g, next(r for r in irreps(g) if r.dim == 2).matrices.real)
    net = declare_network([3 * rep, 5 * rep + permutation(g)], [()])
    for dtype in (torch.float64, torch.float32):
        weights = equivariant_weights(net, seeded(0), runs=(2,), dtype=dtype)
        check_equivariant(
            equivariant_split(net, weights).total_residual, norm(weights), rounding_off_e(dtype)
        )
    single = [w.float().double() for w in equivariant_weights(net, seeded(0))]
    check_equivariant(
        equivariant_split(net, single).total_residual, norm(single), rounding_off_e(torch.float32)
    )
    with pytest.raises(InputError, match="expected layers in E"):  # too coarse for what it is kept in
        check_equivariant(
            equivariant_split(net, single).total_residual, norm(single), rounding_off_e(torch.float64)
        )
    weights = [w.clone() for w in equivariant_weights(net, seeded(0), runs=(2,))]
    weights[0][1, 0, 0] += 1e-3
    with pytest.raises(InputError, match=r"got 0.000\d+ of \S+ in run 1: draw them with equivariant_weights"):
        check_equivariant(
            equivariant_split(net, weights).total_residual, norm(weights), rounding_off_e(torch.float64)
        )


@pytest.mark.parametrize("name", networks())
def test_coordinates_are_isometric(name):
    net = networks()[name]
    weights = gaussian_weights(net, seeded(0), runs=(2,))
    c = coordinates(net, weights)
    assert c.shape == (2, net.equivariant_dimension)
    back = flatten(from_coordinates(net, c))
    assert torch.allclose(back, flatten(project(net, weights)), atol=ROUNDING)
    assert torch.allclose(torch.linalg.vector_norm(c, dim=1), torch.linalg.vector_norm(back, dim=1))
