"""Labels that vary within orbits, as targets do that turn with their inputs: against dense regression."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from symscope import InputError
from symscope.errors import SingularKernelError
from symscope.groups import cyclic, dihedral, irreps, permutation
from symscope.kernels.classical import rbf_kernel
from symscope.spectral import (
    coverage_regression,
    kernel_profile,
    leave_out,
    precision,
    profile_gram,
)
from symscope.spectral.streaming import leave_out_streamed
from tests.spectral.orbit_problems import GROUPS, kept_profile, random_missing, random_profile
from tests.spectral.problems import random_labels
from tests.tolerances import GROUP_LEAVE_OUT

names = st.sampled_from(sorted(GROUPS))


def turned(representation, labels):
    """`rho(g) y_s` for every point, sample after sample."""
    every = torch.stack([representation.act(g, labels) for g in representation.group.elements], 1)
    return every.flatten(0, 1)


def dense(profile, labels, missing, group, ridge, different=None):
    """Residuals at missing points by solving on the different points that are left."""
    gram = profile_gram(profile, group)
    chosen = torch.ones(len(gram), dtype=torch.bool) if different is None else different.flatten()
    gone, there = missing.flatten() & chosen, ~missing.flatten() & chosen
    regular = gram[there][:, there] + ridge * torch.eye(int(there.sum()), dtype=gram.dtype)
    return labels[gone] - gram[gone][:, there] @ torch.linalg.solve(regular, labels[there])


@settings(max_examples=60, deadline=None)
@given(names, st.integers(1, 4), st.integers(0, 999), st.sampled_from([0.0, 0.2]), st.booleans())
def test_every_group_gives_the_dense_residuals(name, m, seed, ridge, equivariant):
    group = GROUPS[name]()
    m = m if group.order > 1 else m + 1
    profile, missing = random_profile(group, m, seed), random_missing(group, m, seed)
    if equivariant:
        target = permutation(group) if group.order < 13 else next(r for r in irreps(group) if r.dim)
        if target(group.identity).is_complex():
            target = permutation(group)
        labels = turned(target, random_labels(m, seed, target.dim))
    else:
        labels = random_labels(m * group.order, seed, 3)
    result = leave_out(profile, labels, missing, group, ridge)
    expected = dense(profile, labels, missing, group, ridge)
    torch.testing.assert_close(result.residual, expected, rtol=0, atol=GROUP_LEAVE_OUT)
    torch.testing.assert_close(result.label, labels[missing.flatten()])


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("name", ["C8", "D5", "Q8", "O"])
def test_samples_that_elements_keep(name, ridge):
    group, m = GROUPS[name](), 4
    stabilisers = [torch.tensor([group.identity])] * m
    stabilisers[1], stabilisers[2] = group.subgroup([1]), group.subgroup([group.order - 1])
    profile = kept_profile(group, stabilisers, 5)
    target = permutation(group)
    start = random_labels(m, 3, target.dim)
    for s, kept in enumerate(stabilisers):  # a sample that an element keeps has a label that it keeps
        start[s] = torch.stack([target.act(g, start[s]) for g in kept.tolist()]).mean(0)
    labels, missing = turned(target, start), torch.zeros(m, group.order, dtype=torch.bool)
    missing[0, 2], missing[1, stabilisers[1]] = True, True
    result = leave_out(profile, labels, missing, group, ridge, stabilisers=stabilisers)
    different = torch.zeros(m, group.order, dtype=torch.bool)
    for s, kept in enumerate(stabilisers):
        first = group.table[:, kept].min(1).values  # cosets g H by their smallest element
        different[s, first.unique()] = True
    expected = dense(profile, labels, missing, group, ridge, different)
    torch.testing.assert_close(result.residual, expected, rtol=0, atol=GROUP_LEAVE_OUT)
    wrong = turned(target, random_labels(m, 3, target.dim))
    with pytest.raises(InputError, match="sample 1 is the same point under elements"):
        leave_out(profile, wrong, missing, group, ridge, stabilisers=stabilisers)


def orbits_of(group, m, seed):
    """Samples under the regular representation, how they are turned, and a kernel that is invariant."""
    x = torch.randn(m, group.order, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return x, lambda y: y[..., group.table[group.inverses]], rbf_kernel(1.5 * group.order**0.5)


@pytest.mark.parametrize("name", ["C8", "D4", "Q8"])
def test_streamed_and_whole_agree(name):
    group = dihedral(4) if name == "D4" else GROUPS[name]()
    x, orbit, kernel = orbits_of(group, 5, 2)
    labels, missing = random_labels(5 * group.order, 1, 2), random_missing(group, 5, 4, share=0.3)
    whole = leave_out(kernel_profile(kernel, orbit, x, group), labels, missing, group, 0.1)
    result = leave_out_streamed(kernel, orbit, x, labels, missing, group, 0.1, memory="1MB", panel=2)
    torch.testing.assert_close(result.residual, whole.residual, rtol=0, atol=GROUP_LEAVE_OUT)


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("method", ["orbits", "dense", "features"])
def test_every_way_of_a_coverage_is_dense_regression(method, ridge, missing):
    group = dihedral(4)
    x, orbit, kernel = orbits_of(group, 7, 3)
    points = orbit(x)
    features = method == "features"
    if features:
        ridge = ridge or 1e-3  # fewer features than points
    labels = turned(permutation(group), random_labels(5, 6, group.degree))
    seen = torch.rand(2, 5, 8, generator=torch.Generator().manual_seed(1)) < 0.6
    seen[:, :, 0] = True
    if not missing:
        seen[:] = True
    result = coverage_regression(
        None if features else kernel, points[:5], labels, seen, group, ridge, new=points[5:], method=method
    )
    flat = points.flatten(0, 1)
    gram = flat @ flat.T if features else kernel(flat, flat)
    for k, mask in enumerate(seen.flatten(1)):
        there = mask.nonzero()[:, 0]
        inverse = torch.linalg.inv(gram[there][:, there] + ridge * torch.eye(len(there)).double())
        expected = (gram[:, there] @ inverse @ labels[there]).unflatten(0, (-1, 8))
        torch.testing.assert_close(result.prediction[k], expected[:5], rtol=0, atol=1e-8)
        torch.testing.assert_close(result.new_prediction[k], expected[5:], rtol=0, atol=1e-8)


def test_labels_on_an_irrep_that_the_kernel_does_not_see_are_out_of_reach():
    group = cyclic(4)
    profile = torch.zeros(2, 2, 4, dtype=torch.float64)
    profile[0, 0], profile[1, 1] = 2.0, 3.0  # constant on orbits: the kernel of a network that pools
    missing = torch.tensor([[True, False, False, False], [False] * 4])
    constant = leave_out(profile, random_labels(2, 0), missing, group, 0.0)
    assert torch.equal(constant.residual, torch.zeros(1, dtype=torch.float64))
    with pytest.raises(SingularKernelError, match="does not see irrep k=1, on which labels vary"):
        leave_out(profile, random_labels(8, 0), missing, group, 0.0)


def test_one_point_left_out_is_the_classical_formula():
    group, m = cyclic(5), 3
    profile, labels = random_profile(group, m, 7), random_labels(15, 8)
    missing = torch.zeros(m, 5, dtype=torch.bool)
    missing[1, 3] = True
    inverse = precision(profile_gram(profile, group), 0.2)
    at = 5 + 3
    expected = (inverse @ labels)[at] / inverse[at, at]
    result = leave_out(profile, labels, missing, group, 0.2)
    assert float(result.residual) == pytest.approx(float(expected), abs=1e-10)
