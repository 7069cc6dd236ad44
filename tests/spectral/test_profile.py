"""Profiles against the Gram matrices they stand for."""

from __future__ import annotations

import inspect

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import InputError, data, kernels
from symscope.data.images import shift
from symscope.groups import cyclic, dihedral
from symscope.kernels.classical import rbf_kernel
from symscope.spectral import kernel_profile, leave_out, leave_out_streamed, profile_gram, projected_profile
from symscope.spectral._profile import check_profile
from tests.spectral.orbit_problems import GROUPS, random_profile
from tests.spectral.problems import random_gram
from tests.tolerances import ROUNDING


@given(st.sampled_from(sorted(GROUPS)), st.integers(1, 3), st.integers(0, 99))
def test_projection_is_the_mean_over_the_group_and_measures_what_it_leaves(name, m, seed):
    group = GROUPS[name]()
    n = group.order
    gram = random_gram(m * n, seed)
    result = projected_profile(gram, group)
    check_profile(result.profile, group)
    s, t, d = m - 1, 0, (seed + 1) % n
    mean = sum(gram[s * n + g, t * n + int(group.table[g, d])] for g in range(n)) / n
    torch.testing.assert_close(result.profile[s, t, d], mean, rtol=0, atol=ROUNDING)
    projected = profile_gram(result.profile, group)
    assert result.invariance_error == pytest.approx(float((gram - projected).norm() / gram.norm()), abs=1e-10)
    again = projected_profile(projected, group)
    torch.testing.assert_close(again.profile, result.profile, rtol=0, atol=ROUNDING)
    assert again.invariance_error < 1e-14


@pytest.mark.parametrize("memory", ["2GB", "40KB"])
@pytest.mark.parametrize("action", [data.rotation(4), data.dihedral_action(4), shift(3)])
def test_the_profile_of_a_kernel_is_its_gram_over_all_orbits(action, memory):
    images = torch.rand(5, 6, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    kernel = rbf_kernel(2.0)
    points = data.orbits(images, action).flat().points
    profile = kernel_profile(kernel, action.act_all, images, action.group, memory=memory)
    gram = kernel(points)
    torch.testing.assert_close(profile_gram(profile, action.group), gram, rtol=0, atol=ROUNDING)
    projected = projected_profile(gram, action.group)
    torch.testing.assert_close(profile, projected.profile, rtol=0, atol=ROUNDING)
    assert projected.invariance_error < 1e-13


def test_half_of_the_entries_is_computed():
    counted = []

    def kernel(a, b):
        counted.append(len(a) * len(b))
        return a @ b.T

    x = torch.randn(160, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    flips = lambda x: torch.stack([x, x.flip(-1)], dim=1)  # noqa: E731
    profile = kernel_profile(kernel, flips, x, cyclic(2), memory=20000)
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
    with pytest.raises(InputError, match="over one sample or more"):
        check_profile(torch.zeros(1, 2, 3), group)
    with pytest.raises(InputError, match="not finite"):
        check_profile(torch.full((1, 1, 3), float("nan")), group)
    with pytest.raises(InputError, match="Hermitian"):
        check_profile(torch.tensor([[[1.0, 0.5, 0.2]]]), group)
    x = torch.randn(4, 2)
    with pytest.raises(InputError, match="orbit: expected 6 points for each of 4 samples"):
        kernel_profile(lambda a, b: a @ b.T, lambda x: x[:, None], x, dihedral(3))
    with pytest.raises(InputError, match="one sample or more"):
        kernel_profile(lambda a, b: a @ b.T, lambda x: x[:, None], x[:0], cyclic(1))
    with pytest.raises(InputError, match="more than the 10 allowed"):
        kernel_profile(lambda a, b: a @ b.T, lambda x: x[:, None], x, cyclic(1), memory=10)


def angles_between(a, b):
    """`1 - angle / pi` by inner products, as kernels of networks have it: coarse where points coincide."""
    cosines = (a @ b.T) / (a.norm(dim=1)[:, None] * b.norm(dim=1))
    result = torch.acos(cosines.clamp(-1, 1)) / torch.pi
    if b is a:
        result.fill_diagonal_(0)
    return 1 - result


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


def turns_of(n):
    return lambda x: torch.stack([x.roll(k, -1) for k in range(n)], 1)


def test_a_profile_is_as_precise_as_the_kernel_s_entries():
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    ntk, group = kernels.infinite_width(net).ntk, cyclic(6)
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))
    labels, missing = torch.tensor([1.0, -1.0, 2.0, 0.5]), torch.eye(4, 6).bool()
    profile = kernel_profile(ntk, turns_of(6), x, group)
    assert profile.dtype == torch.float64
    exact = kernel_profile(ntk, turns_of(6), x.double(), group)
    assert (profile - exact).abs().max() < ROUNDING
    whole = leave_out(exact, labels.double(), missing, group, 0.0)
    streamed = leave_out_streamed(ntk, turns_of(6), x, labels, missing, group, 0.0, memory="2MB")
    torch.testing.assert_close(streamed.residual, whole.residual, rtol=0, atol=1e-9)
    rough = lambda a, b: ntk(a, b).float()  # noqa: E731
    assert kernel_profile(rough, turns_of(6), x.double(), group).dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_kernel_that_changes_under_the_group_is_refused_in_any_precision(dtype):
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0)).to(dtype)
    scales = torch.tensor([1.0, 1.02, 1.0, 1.0], dtype=dtype)
    near = lambda a, b: torch.exp(-(torch.cdist(a * scales, b * scales) ** 2) / 8)  # noqa: E731
    for kernel in (near, single_only(near)):
        if dtype == torch.float64 and kernel is not near:
            continue
        with pytest.raises(InputError, match="is not invariant under C4"):
            kernel_profile(kernel, turns_of(4), x, cyclic(4))
    images = data.mnist_sample().per_class(1, seed=0).standardised().x.to(dtype)
    layers = (torch.nn.Flatten(), torch.nn.Linear(784, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    ntk = kernels.infinite_width(torch.nn.Sequential(*layers)).ntk
    with pytest.raises(InputError, match="is not invariant under C8"):
        kernel_profile(ntk, data.rotation(8).act_all, images, cyclic(8))


def single_only(kernel):
    """The same kernel made of single-precision parts, as a network's weights are."""

    def single(a, b):
        if a.dtype != torch.float32:
            raise RuntimeError("expected scalar type Float but found Double")
        return kernel(a, b)

    return single


def relu_ntk(a, b, layers=3):
    """A plain recursion by inner products: it loses half its digits where points coincide."""
    a, b = a.flatten(1), b.flatten(1)
    size = (a.norm(dim=1)[:, None] * b.norm(dim=1)) / a.shape[1]
    cosine = (a @ b.T / a.shape[1] / size).clamp(-1, 1)
    result = size * cosine
    for _ in range(layers):
        flat = 1 - torch.acos(cosine) / torch.pi
        cosine = (cosine * flat + (1 - cosine * cosine).sqrt() / torch.pi).clamp(-1, 1)
        result = result * flat + size * cosine
    return result


def features(x):
    """What a network that pools over all pixels sees."""
    return torch.stack([x.flatten(1).sum(1), x.flatten(1).square().sum(1), x.flatten(1).pow(3).sum(1)], 1)


@pytest.mark.parametrize(
    "kernel",
    [
        relu_ntk,
        lambda a, b: relu_ntk(features(a), features(b)),
        lambda a, b: torch.exp(-(torch.cdist(a.flatten(1), b.flatten(1)) ** 2) / 200),
        lambda a, b: torch.exp(-torch.cdist(a.flatten(1), b.flatten(1)) / 10),
        lambda a, b: (1 + a.flatten(1) @ b.flatten(1).T / 784) ** 5,
    ],
    ids=["relu", "pooled", "gaussian", "exponential", "polynomial"],
)
@pytest.mark.parametrize("only", [False, True])
def test_honest_kernels_in_single_precision_go_through(kernel, only):
    digits = data.mnist_sample().per_class(2, seed=0).standardised().x.float()
    for action in (shift(14), data.dihedral_action(4)):
        asked = single_only(kernel) if only else kernel
        result = kernel_profile(asked, action.act_all, digits, action.group)
        assert result.dtype == torch.float32
        assert result.isfinite().all()


def test_points_that_coincide_but_for_the_action_s_rounding_are_one():
    """Shifts by Fourier transforms: the seed that half a turn keeps comes back with rounding."""
    x = torch.randn(2, 6, generator=torch.Generator().manual_seed(0))
    x[0] = (x[0] + x[0].roll(3)) / 2
    phases = torch.exp(-2j * torch.pi * torch.arange(6)[:, None] * torch.arange(4) / 6)
    turns = lambda x: torch.fft.irfft(torch.fft.rfft(x)[:, None] * phases, n=6).to(x.dtype)  # noqa: E731
    profile = kernel_profile(rbf_kernel(1.5), turns, x, cyclic(6))
    check_profile(profile, cyclic(6))
    assert (profile[:, 0] - profile[:, 0].roll(3, -1)).abs().max() < 1e-14
    exact = kernel_profile(rbf_kernel(1.5), turns_of(6), x.double(), cyclic(6))
    assert (profile - exact).abs().max() < 1e-6


@pytest.mark.parametrize("scale", [1e-38, 1e-20, 1.0, 1e20, 1e35, 3e38])
def test_the_invariance_error_does_not_depend_on_the_scale(scale):
    gram = random_gram(12, 3) + torch.diag(torch.linspace(0, 2, 12, dtype=torch.float64))
    gram = gram / gram.abs().max()
    result = projected_profile((gram * scale).float(), cyclic(6))
    plain = projected_profile(gram, cyclic(6))
    assert plain.invariance_error > 0.02
    assert result.invariance_error == pytest.approx(plain.invariance_error, rel=1e-5)
    torch.testing.assert_close(result.profile.double() / scale, plain.profile, rtol=0, atol=1e-6)
    if scale in (1e-38, 3e38):  # as far as double precision goes, too
        far = projected_profile(gram * scale**8, cyclic(6))
        assert far.invariance_error == pytest.approx(plain.invariance_error, rel=1e-9)
    assert projected_profile(torch.zeros(6, 6), cyclic(6)).invariance_error == 0.0


def test_samples_and_kernels_of_another_kind_are_refused():
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    dot = lambda a, b: a @ b.T  # noqa: E731
    # the checks of the test suite would stop some of these earlier
    asked = inspect.unwrap(kernel_profile)
    for samples, message in (
        (torch.arange(8).reshape(2, 4), r"floating-point numbers, got torch.int64; use samples.double\(\)"),
        (x + 1j, "floating-point numbers, got torch.complex128"),
        (x[0], r"at least one axis of features; got shape \(4,\)"),
        (x[:0], "one sample or more"),
        (x / 0.0, "samples: expected finite numbers"),
    ):
        with pytest.raises(InputError, match=message):
            asked(dot, turns_of(4), samples, cyclic(4))
    with pytest.raises(
        InputError, match=r"kernel: expected real entries in float64 or float32, got torch\.complex"
    ):
        asked(lambda a, b: torch.fft.fft(a) @ torch.fft.fft(b).mH, turns_of(4), x, cyclic(4))
    with pytest.raises(InputError, match=r"kernel: expected a torch\.Tensor of its entries, got ndarray"):
        asked(lambda a, b: (a @ b.T).numpy(), turns_of(4), x, cyclic(4))
