"""Equivariant regression with kernels of matrices, against dense regression over all points and outputs."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from symscope.data import custom_action
from symscope.data.point_clouds import point_rotation
from symscope.data.vectors import linear_action
from symscope.errors import InputError, SingularKernelError
from symscope.groups import cyclic, dihedral, equivariant_maps, from_matrices, irreps, permutation, trivial
from symscope.groups.constructions import from_function, regular
from symscope.kernels import empirical_ntk_blocks
from symscope.spectral import kernel_profile, leave_out, leave_out_residual, precision
from symscope.spectral.matrix_valued import MatrixProfile, leave_out_matrix, matrix_profile
from tests.spectral.orbit_problems import GROUPS, random_missing

DENSE = 1e-10
SMALL = sorted(name for name in GROUPS if GROUPS[name]().order <= 12)


def normal(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def representation(group, seed: int):
    """An orthogonal representation of dimension 2 to 4, in a basis that is nothing in particular."""
    parts = [r.matrices for r in irreps(group) if not r(group.identity).is_complex() and r.dim <= 3]
    picks = torch.randint(len(parts), (2,), generator=torch.Generator().manual_seed(seed)).tolist()
    first, second = (parts[k] for k in picks)
    if first.shape[1] + second.shape[1] > 4:
        second = parts[0]
    matrices = torch.stack([torch.block_diag(a, b) for a, b in zip(first, second, strict=True)])
    turn = torch.linalg.qr(normal(matrices.shape[1], matrices.shape[1], seed=seed)).Q
    return from_matrices(group, turn @ matrices @ turn.T)


def feature_kernel(inputs, outputs, features: int, seed: int, equivariant: bool):
    """`K(x, x') = sum_g rho(g) J(g^-1 x) J(g^-1 x')^T rho(g)^T`, or the term of the identity alone."""
    group, c = inputs.group, outputs.dim
    weights = normal(inputs.dim, c * features, seed=seed) / inputs.dim**0.5

    def jacobian(x):
        every = []
        for g in group.elements if equivariant else [group.identity]:
            own = torch.tanh(inputs.act(group.inverse(g), x) @ weights + 0.1).unflatten(1, (c, features))
            every.append(outputs(g) @ own)
        return torch.cat(every, 2) / features**0.5

    return lambda x, y: torch.einsum("aik,bjk->abij", jacobian(x), jacobian(y))


def dense_residuals(kernel, inputs, outputs, x, y, missing, ridge, stabilisers=None, project=False):
    """Residuals at missing points by dense regression over different points and outputs."""
    group, (m, c) = inputs.group, (len(x), outputs.dim)
    n = group.order
    points = torch.stack([inputs.act(g, x) for g in group.elements], 1).flatten(0, 1)
    targets = torch.stack([outputs.act(g, y) for g in group.elements], 1).flatten(0, 1)
    gram = kernel(points, points)
    if project:
        total = torch.zeros_like(gram)
        for g in group.elements:
            to = (torch.arange(m)[:, None] * n + group.table[g]).flatten()
            total += outputs(g).T @ gram[to][:, to] @ outputs(g)
        gram = total / n
    first = torch.arange(n).expand(m, n)
    if stabilisers is not None:
        first = torch.stack([group.table[:, h].min(1).values for h in stabilisers])
    different = (first == torch.arange(n)).flatten()
    marked = torch.zeros(m, n, dtype=torch.bool)
    where = missing.nonzero()
    marked[where[:, 0], first[where[:, 0], where[:, 1]]] = True
    gone = marked.flatten()[different].nonzero()[:, 0]
    rows = gram[different][:, different].permute(0, 2, 1, 3)
    size = rows.shape[0] * c
    which = (gone[:, None] * c + torch.arange(c)).flatten()
    inverse = precision(rows.reshape(size, size), ridge)
    residual = leave_out_residual(inverse, targets[different].reshape(size), which)
    return residual.reshape(-1, c), targets[different][gone]


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(SMALL), st.integers(1, 3), st.integers(0, 999), st.sampled_from([0.0, 0.2]))
def test_every_group_and_representation_gives_the_dense_residuals(name, m, seed, ridge):
    group = GROUPS[name]()
    m = m if group.order > 1 else m + 1
    inputs, outputs = regular(group), representation(group, seed)
    kernel = feature_kernel(inputs, outputs, 3 * m * outputs.dim, seed, equivariant=True)
    x, y = normal(m, inputs.dim, seed=seed + 1), normal(m, outputs.dim, seed=seed + 2)
    missing = random_missing(group, m, seed)
    profile = matrix_profile(kernel, linear_action(inputs), x, outputs)
    assert profile.equivariance_error == 0
    result = leave_out_matrix(profile, y, missing, ridge)
    residual, targets = dense_residuals(kernel, inputs, outputs, x, y, missing, ridge)
    torch.testing.assert_close(result.label, targets, rtol=0, atol=DENSE)
    torch.testing.assert_close(result.residual, residual, rtol=0, atol=DENSE)
    assert sum(one.weight for one in result.irreps) == pytest.approx(1, abs=1e-9)
    assert sum(one.share for one in result.irreps) == pytest.approx(1, abs=1e-9)
    every = torch.stack([outputs.act(g, y) for g in group.elements], 1).flatten(0, 1)
    again = leave_out_matrix(profile, every, missing, ridge)  # the same, said for every point
    torch.testing.assert_close(again.residual, residual, rtol=0, atol=DENSE)


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(SMALL), st.integers(0, 999), st.sampled_from([0.0, 0.3]))
def test_samples_that_elements_keep_count_once(name, seed, ridge):
    group, m = GROUPS[name](), 3
    inputs, outputs = regular(group), representation(group, seed)
    picks = torch.randint(group.order, (m,), generator=torch.Generator().manual_seed(seed)).tolist()
    stabilisers = [group.subgroup([g]) if s else torch.tensor([0]) for s, g in enumerate(picks)]
    x, y = normal(m, inputs.dim, seed=seed + 1), normal(m, outputs.dim, seed=seed + 2)
    for s, kept in enumerate(stabilisers):
        x[s] = torch.stack([inputs.act(h, x[s]) for h in kept.tolist()]).mean(0)
        y[s] = torch.stack([outputs.act(h, y[s]) for h in kept.tolist()]).mean(0)
    kernel = feature_kernel(inputs, outputs, 3 * m * outputs.dim, seed, equivariant=True)
    missing = random_missing(group, m, seed, share=0.2)
    missing[0, 0], missing[1, 0] = False, True
    profile = matrix_profile(kernel, linear_action(inputs), x, outputs)
    assert [set(kept.tolist()) for kept in profile.stabilisers] == [set(one.tolist()) for one in stabilisers]
    result = leave_out_matrix(profile, y, missing, ridge)
    residual, targets = dense_residuals(kernel, inputs, outputs, x, y, missing, ridge, stabilisers)
    torch.testing.assert_close(result.label, targets, rtol=0, atol=DENSE)
    torch.testing.assert_close(result.residual, residual, rtol=0, atol=DENSE)
    assert sum(one.weight for one in result.irreps) == pytest.approx(1, abs=1e-9)
    assert result.points == sum(group.order // len(h) for h in stabilisers)


@settings(max_examples=10, deadline=None)
@given(st.sampled_from(["C5", "D3", "Q8"]), st.integers(0, 999))
def test_other_kernels_are_projected_and_it_is_said(name, seed):
    group, m, ridge = GROUPS[name](), 2, 0.1
    inputs, outputs = regular(group), representation(group, seed)
    kernel = feature_kernel(inputs, outputs, 3 * m * outputs.dim * group.order, seed, equivariant=False)
    x, y = normal(m, inputs.dim, seed=seed + 1), normal(m, outputs.dim, seed=seed + 2)
    missing = random_missing(group, m, seed)
    profile = matrix_profile(kernel, linear_action(inputs), x, outputs)
    result = leave_out_matrix(profile, y, missing, ridge)
    residual, _ = dense_residuals(kernel, inputs, outputs, x, y, missing, ridge, project=True)
    torch.testing.assert_close(result.residual, residual, rtol=0, atol=DENSE)
    assert result.invariance_error > 0.01
    assert "replaced by the nearest one" in result.explanation


def equivariant_network(group, points: int, copies: int, seed: int) -> tuple[nn.Module, object, object]:
    """A network of clouds in the plane whose weights start equivariant: clouds, regular copies, vectors."""
    turns = point_rotation(group, 2)
    vector = from_matrices(group, turns.transform.matrices)
    cloud, hidden = points * vector, copies * regular(group)
    net = nn.Sequential(
        nn.Flatten(), nn.Linear(cloud.dim, hidden.dim), nn.Tanh(), nn.Linear(hidden.dim, 2)
    ).double()
    still = trivial(group)
    with torch.no_grad():
        for layer, (source, target) in ((net[1], (cloud, hidden)), (net[3], (hidden, vector))):
            start = normal(*layer.weight.shape, seed=seed)
            layer.weight.copy_(equivariant_maps(source, target).project(start))
            layer.bias.copy_(
                equivariant_maps(still, target).project(normal(target.dim, 1, seed=seed + 1))[:, 0]
            )
    return net, turns, vector


@pytest.mark.parametrize("group", [cyclic(4), dihedral(3)], ids=str)
def test_the_tangent_kernel_of_a_network_that_starts_equivariant_is_exact(group):
    net, turns, vector = equivariant_network(group, 3, 3, seed=5)
    x, y = normal(3, 3, 2, seed=1), normal(3, 2, seed=2)
    moved = net(turns.act(1, x))
    torch.testing.assert_close(moved, vector.act(1, net(x)))  # it is equivariant
    profile = matrix_profile(lambda a, b: empirical_ntk_blocks(net, a, b), turns, x, vector)
    assert profile.equivariance_error == 0
    missing = random_missing(group, 3, 4)
    result = leave_out_matrix(profile, y, missing, 1e-3)
    cloud = 3 * vector

    def dense_kernel(a, b):
        return empirical_ntk_blocks(net, a.unflatten(1, (3, 2)), b.unflatten(1, (3, 2)))

    residual, _ = dense_residuals(dense_kernel, cloud, vector, x.flatten(1), y, missing, 1e-3)
    torch.testing.assert_close(result.residual, residual, rtol=0, atol=1e-9)
    scalar = empirical_ntk_blocks(net, x)
    assert float((scalar[..., 0, 1]).abs().max()) > 1e-3 * float(scalar.abs().max())  # a matrix indeed


def test_at_random_weights_the_tangent_kernel_is_not():
    group = cyclic(4)
    _, turns, vector = equivariant_network(group, 3, 3, seed=5)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.Linear(6, 30), nn.Tanh(), nn.Linear(30, 2)).double()
    profile = matrix_profile(
        lambda a, b: empirical_ntk_blocks(net, a, b), turns, normal(3, 3, 2, seed=1), vector
    )
    assert 0.01 < profile.equivariance_error < 0.6
    assert "projected" in repr(profile)


@given(st.integers(0, 99))
@settings(max_examples=10, deadline=None)
def test_one_number_times_the_identity_is_regression_of_each_output(seed):
    group = dihedral(4)
    inputs, outputs = permutation(group), representation(group, seed)
    x, y = normal(3, 4, seed=seed), normal(3, outputs.dim, seed=seed + 1)
    missing = random_missing(group, 3, seed)

    def scalar(a, b):
        return torch.exp(-torch.cdist(a, b).square() / 2)

    def matrix(a, b):
        return scalar(a, b)[..., None, None] * torch.eye(outputs.dim, dtype=torch.float64)

    action = linear_action(inputs)
    found = leave_out_matrix(matrix_profile(matrix, action, x, outputs), y, missing, 0.01)
    every = torch.stack([outputs.act(g, y) for g in group.elements], 1).flatten(0, 1)
    expected = leave_out(kernel_profile(scalar, action.act_all, x, group), every, missing, group, 0.01)
    torch.testing.assert_close(found.residual, expected.residual, rtol=0, atol=DENSE)


def test_a_kernel_equivariant_on_both_sides_predicts_exactly_without_a_ridge():
    group = dihedral(3)
    inputs, outputs = regular(group), from_matrices(group, irreps(group)[2].matrices)
    half = feature_kernel(inputs, outputs, 4, 3, equivariant=False)

    def kernel(a, b):  # the mean over both sides: only equivariant functions
        total = 0.0
        for g in group.elements:
            for h in group.elements:
                moved = half(inputs.act(group.inverse(g), a), inputs.act(group.inverse(h), b))
                total = total + outputs(g) @ moved @ outputs(h).T
        return total

    x, y = normal(1, 6, seed=1), normal(1, 2, seed=2)
    missing = torch.zeros(1, 6, dtype=torch.bool)
    missing[0, 1:4] = True
    profile = matrix_profile(kernel, linear_action(inputs), x, outputs)
    result = leave_out_matrix(profile, y, missing, 0.0)
    assert float(result.residual.abs().max()) < 1e-12
    assert "non-trivial irrep" in result.explanation
    with pytest.raises(SingularKernelError, match="out of reach"):
        leave_out_matrix(profile, normal(6, 2, seed=4), missing, 0.0)


def test_bad_input():
    group = cyclic(3)
    inputs = permutation(group)
    kernel = feature_kernel(inputs, inputs, 9, 0, equivariant=True)
    action, x = linear_action(inputs), normal(2, 3, seed=0)
    no = from_function(group, 3, lambda g, y: y.roll(g * g, -1), unitary=True)
    with pytest.raises(InputError, match="is no representation: expected a homomorphism"):
        matrix_profile(kernel, action, x, no)
    stretched = torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    sheared = from_matrices(group, stretched @ inputs.matrices @ torch.linalg.inv(stretched))
    with pytest.raises(InputError, match="expected an orthogonal representation"):
        matrix_profile(kernel, action, x, sheared)
    with pytest.raises(InputError, match=r"turn under C3, the group that acts on the samples, got.*D3"):
        matrix_profile(kernel, action, x, permutation(dihedral(3)))
    with pytest.raises(InputError, match="is complex"):
        matrix_profile(kernel, action, x, irreps(group)[1])
    with pytest.raises(InputError, match=r"matrix over 3 outputs for every pair.*got \(2, 6\)"):
        matrix_profile(lambda a, b: a @ b.T, action, x, inputs)
    with pytest.raises(InputError, match="finite"):
        matrix_profile(kernel, action, x * torch.nan, inputs)
    with pytest.raises(InputError, match="expected one sample or more"):
        matrix_profile(kernel, action, x[:0], inputs)
    with pytest.raises(InputError, match="the profile: expected at most"):
        matrix_profile(kernel, action, x, inputs, memory=100)
    with pytest.raises(InputError, match="not an action"):
        matrix_profile(kernel, custom_action(group, lambda g, y: y.roll(g * g, -1), 1), x, inputs)
    profile = matrix_profile(kernel, action, x, inputs)
    missing = torch.zeros(2, 3, dtype=torch.bool)
    missing[0, 1] = True
    for wrong in (normal(2, 2, seed=0), normal(3, 3, seed=0)):
        with pytest.raises(InputError, match=r"expected targets \[2, 3\].*or \[6, 3\]"):
            leave_out_matrix(profile, wrong, missing, 0.1)
    with pytest.raises(InputError, match=r"targets.*finite"):
        leave_out_matrix(profile, normal(2, 3, seed=0) * torch.nan, missing, 0.1)
    with pytest.raises(InputError, match="expected a profile"):
        leave_out_matrix(
            MatrixProfile(profile.values[:, :2, :, :2], inputs, profile.stabilisers), x, missing, 0.1
        )
    still = matrix_profile(kernel, action, torch.ones(1, 3, dtype=torch.float64), inputs)
    with pytest.raises(InputError, match="keeps sample 0 and changes its target"):
        leave_out_matrix(still, normal(1, 3, seed=0), missing[:1], 0.1)
