"""Profiles against the Gram matrices they stand for."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import InputError, data, kernels
from symscope.groups import cyclic, dihedral
from symscope.spectral import kernel_profile, profile_gram, projected_profile
from symscope.spectral.profile import check_profile
from tests.spectral.orbit_problems import GROUPS, random_profile
from tests.spectral.problems import random_gram
from tests.tolerances import ROUNDING


@given(st.sampled_from(sorted(GROUPS)), st.integers(1, 3), st.integers(0, 99))
def test_projection_is_the_mean_over_the_group_and_measures_what_it_leaves(name, m, seed):
    group = GROUPS[name]()
    n = group.order
    gram = random_gram(m * n, seed)
    found = projected_profile(gram, group)
    check_profile(found.profile, group)
    s, t, d = m - 1, 0, (seed + 1) % n
    mean = sum(gram[s * n + g, t * n + int(group.table[g, d])] for g in range(n)) / n
    torch.testing.assert_close(found.profile[s, t, d], mean, rtol=0, atol=ROUNDING)
    projected = profile_gram(found.profile, group)
    assert found.departure == pytest.approx(float((gram - projected).norm() / gram.norm()), abs=1e-10)
    again = projected_profile(projected, group)
    torch.testing.assert_close(again.profile, found.profile, rtol=0, atol=ROUNDING)
    assert again.departure < 1e-14


@pytest.mark.parametrize("memory", ["2GB", "40KB"])
@pytest.mark.parametrize("action", [data.rotation(4), data.dihedral(4), data.shift(3)])
def test_the_profile_of_a_kernel_is_its_gram_over_all_orbits(action, memory):
    images = torch.rand(5, 6, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    kernel = kernels.rbf(2.0)
    points = data.orbits(images, action).flat().points
    profile = kernel_profile(kernel, action.act_all, images, action.group, memory=memory)
    gram = kernel(points)
    torch.testing.assert_close(profile_gram(profile, action.group), gram, rtol=0, atol=ROUNDING)
    projected = projected_profile(gram, action.group)
    torch.testing.assert_close(profile, projected.profile, rtol=0, atol=ROUNDING)
    assert projected.departure < 1e-13


def test_half_of_the_entries_is_computed():
    counted = []

    def kernel(a, b):
        counted.append(len(a) * len(b))
        return a @ b.T

    x = torch.randn(24, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    flips = lambda x: torch.stack([x, x.flip(-1)], dim=1)  # noqa: E731
    profile = kernel_profile(kernel, flips, x, cyclic(2), memory=600)
    assert len(counted) > 20
    assert sum(counted) < 0.6 * profile.numel()


def test_bad_input_is_refused():
    group = cyclic(3)
    with pytest.raises(InputError, match="a multiple of 3 points; got 4"):
        projected_profile(random_gram(4, 0), group)
    with pytest.raises(InputError, match="symmetric"):
        projected_profile(torch.arange(9.0).reshape(3, 3), group)
    with pytest.raises(InputError, match="has 4: the group does not match"):
        profile_gram(random_profile(group, 2, 0), cyclic(4))
    with pytest.raises(InputError, match="over one seed or more"):
        check_profile(torch.zeros(1, 2, 3), group)
    with pytest.raises(InputError, match="not finite"):
        check_profile(torch.full((1, 1, 3), float("nan")), group)
    with pytest.raises(InputError, match="Hermitian"):
        check_profile(torch.tensor([[[1.0, 0.5, 0.2]]]), group)
    x = torch.randn(4, 2)
    with pytest.raises(InputError, match="orbit: expected 6 points for each of 2 seeds"):
        kernel_profile(lambda a, b: a @ b.T, lambda x: x[:, None], x, dihedral(3))
    with pytest.raises(InputError, match="one seed or more"):
        kernel_profile(lambda a, b: a @ b.T, lambda x: x[:, None], x[:0], cyclic(1))
    with pytest.raises(InputError, match="more than the 10 allowed"):
        kernel_profile(lambda a, b: a @ b.T, lambda x: x[:, None], x, cyclic(1), memory=10)


def angles_between(a, b):
    """`1 - angle / pi` by inner products, as kernels of networks have it: coarse where points coincide."""
    cosines = (a @ b.T) / (a.norm(dim=1)[:, None] * b.norm(dim=1))
    found = torch.acos(cosines.clamp(-1, 1)) / torch.pi
    if b is a:
        found.fill_diagonal_(0)
    return 1 - found


def test_a_seed_meets_itself_without_the_rounding_of_a_pair():
    action = data.rotation(4, "orthogonal")
    x = data.mnist_sample().per_class(4, seed=2).standardised().x.flatten(1)
    orbit = lambda x: action.act_all(x.unflatten(1, (28, 28))).flatten(2)  # noqa: E731
    pairs = angles_between(x, orbit(x)[:, 0]).diagonal()
    assert (pairs - 1).abs().max() > 1e-9  # what the profile would hold otherwise
    profile = kernel_profile(angles_between, orbit, x, action.group, memory="2MB")
    assert torch.equal(profile.diagonal()[0], torch.ones(len(x), dtype=torch.float64))
    others = angles_between(x, orbit(x).flatten(0, 1)).unflatten(1, (-1, 4))
    assert (profile - others)[:, :, 1:].abs().max() < 1e-14


def test_every_element_that_keeps_a_seed_meets_it_exactly():
    x = torch.tensor([[0.3, 0.7, 0.3, 0.7], [0.9, 0.1, 0.4, 0.2]], dtype=torch.float64)
    turns = lambda x: torch.stack([x.roll(k, 1) for k in range(4)], 1)  # noqa: E731
    profile = kernel_profile(angles_between, turns, x, cyclic(4))
    assert profile[0, 0].tolist()[0::2] == [1.0, 1.0]
    assert profile[0, 0, 1] < 0.9
    assert profile[1, 1, 0] == 1.0
    assert profile[1, 1, 2] < 0.9


def test_points_with_all_features_in_common_keep_one_rounding():
    """A kernel of sums cannot tell the points of an orbit apart: an exact diagonal would be a difference."""
    x = torch.tensor([[1.0, 2.0, 4.0], [0.5, 0.1, 0.3]], dtype=torch.float64)
    coarse = lambda a, b: torch.outer(a.sum(1), b.sum(1)) * (1.0 if b is a else 1 - 1e-9)  # noqa: E731
    turns = lambda x: torch.stack([x.roll(k, 1) for k in range(3)], 1)  # noqa: E731
    profile = kernel_profile(coarse, turns, x, cyclic(3))
    assert float(profile.amax(2).sub(profile.amin(2)).abs().max()) < 1e-14
