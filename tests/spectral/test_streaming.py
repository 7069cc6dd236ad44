"""Streaming from a kernel against the profile held in memory."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError, data, kernels
from symscope.errors import SingularKernelError
from symscope.groups import cyclic, direct_product
from symscope.kernels.classical import rbf_kernel
from symscope.spectral import (
    class_masks,
    kernel_profile,
    leave_out,
    leave_out_residual,
    leave_out_streamed,
    precision,
)
from symscope.spectral.streaming import irrep_batches, orbits_per_panel
from tests.spectral.orbit_problems import GROUPS, random_missing
from tests.spectral.problems import random_labels
from tests.tolerances import GROUP_LEAVE_OUT, SINGLE


def permuted(group, m: int, seed: int):
    """Seeds, orbits and a kernel: the group permutes coordinates of its regular representation."""
    x = torch.randn(m, group.order, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    moves = group.table[group.inverses]  # (d x)(g) = x(d^-1 g)
    return x, lambda x: x[:, moves], rbf_kernel(1.5 * group.order**0.5)


@pytest.mark.parametrize("name", ["C8", "C3xC4", "D5", "Q8", "O"])
@pytest.mark.parametrize("panel", [1, 2, 3, None])
def test_streaming_gives_what_the_profile_gives(name, panel):
    group, m = GROUPS[name](), 5
    x, orbit, kernel = permuted(group, m, 3)
    labels = random_labels(m, 0, 2)
    missing = torch.stack([random_missing(group, m, k) for k in range(2)])
    profile = kernel_profile(kernel, orbit, x, group, memory="40KB")
    whole = leave_out(profile, labels, missing, group, 0.01)
    steps = []
    result = leave_out_streamed(
        kernel,
        orbit,
        x,
        labels,
        missing,
        group,
        0.01,
        memory="2MB",
        panel=panel,
        progress=lambda *at: steps.append(at),
    )
    torch.testing.assert_close(result.residual, whole.residual, rtol=0, atol=GROUP_LEAVE_OUT)
    for one, other in zip(result.irreps, whole.irreps, strict=True):
        assert one.irrep == other.irrep
        assert one.share == pytest.approx(other.share, abs=1e-8)
    assert steps[-1] == ("irreps", len(whole.irreps), len(whole.irreps))


@pytest.mark.parametrize("name", ["C8", "C3xC4", "D5", "Q8", "O"])
@pytest.mark.parametrize("panel", [1, 2, None])
@pytest.mark.parametrize("ridge", [0.0, 0.01])
def test_samples_that_elements_keep_are_streamed_as_cosets(name, panel, ridge):
    group, m = GROUPS[name](), 5
    x, orbit, kernel = permuted(group, m, 3)
    kept = [torch.tensor([group.identity])] * m
    for s, g in ((1, 1), (4, group.order - 1)):
        kept[s] = group.subgroup([g])
        x[s] = orbit(x[s : s + 1])[0, kept[s]].mean(0)
    labels, missing = random_labels(m, 0, 2), torch.zeros(2, m, group.order, dtype=torch.bool)
    missing[0, 0, 1], missing[0, 1, kept[1]], missing[1, 4, kept[4]] = True, True, True
    profile = kernel_profile(kernel, orbit, x, group)
    whole = leave_out(profile, labels, missing, group, ridge, stabilisers=kept)
    result = leave_out_streamed(
        kernel, orbit, x, labels, missing, group, ridge, memory="2MB", panel=panel, stabilisers=kept
    )
    assert result.points == whole.points < m * group.order
    assert result.explanation == whole.explanation
    torch.testing.assert_close(result.residual, whole.residual, rtol=0, atol=GROUP_LEAVE_OUT)
    for one, other in zip(result.irreps, whole.irreps, strict=True):
        assert (one.irrep, one.weight) == (other.irrep, other.weight)
        assert one.share == pytest.approx(other.share, abs=1e-8)


def test_stabilisers_that_do_not_keep_their_samples_are_refused():
    group = cyclic(4)
    x, orbit, kernel = permuted(group, 3, 0)
    kept = [torch.tensor([0]), torch.tensor([0, 2]), torch.tensor([0])]
    with pytest.raises(InputError, match=r"r\^2 x_1 and x_1 are .* apart: r\^2 does not fix sample 1"):
        leave_out_streamed(
            kernel,
            orbit,
            x,
            random_labels(3, 0),
            random_missing(group, 3, 0),
            group,
            0.0,
            memory="2MB",
            stabilisers=kept,
        )


def test_a_network_on_rotated_digits_streams_in_several_passes():
    action = data.rotation(8, "orthogonal")
    digits = data.mnist_sample().per_class(4, seed=1).standardised()
    net = torch.nn.Sequential(torch.nn.Linear(784, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    ntk = kernels.infinite_width(net).ntk
    orbit = lambda x: action.act_all(x.unflatten(1, (28, 28))).flatten(2)  # noqa: E731
    x, labels = digits.x.flatten(1), torch.nn.functional.one_hot(digits.labels, 10).double()
    masks = class_masks(digits.labels, action.group)
    profile = kernel_profile(ntk, orbit, x, action.group)
    whole = leave_out(profile, labels, masks, action.group, 0.0)
    result = leave_out_streamed(ntk, orbit, x, labels, masks, action.group, 0.0, memory="100KB", panel=16)
    assert len(irrep_batches(40, action.group, 16, 94_000)) > 1
    torch.testing.assert_close(result.residual, whole.residual, rtol=0, atol=GROUP_LEAVE_OUT)


@pytest.mark.parametrize(("turns", "method"), [(4, "spline"), (16, "orthogonal")])
def test_streamed_residuals_are_those_of_dense_regression(turns, method):
    """Quarter turns by splines move pixels only; orthogonal ones bring back a seed with rounding of 4e-15."""
    action = data.rotation(turns, method)
    digits = data.mnist_sample().per_class(6, seed=0).standardised()
    layers = [torch.nn.Linear(784, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2), torch.nn.ReLU()]
    ntk = kernels.infinite_width(
        torch.nn.Sequential(*layers, torch.nn.Linear(2, 1)), w_std=1.0, b_std=1.0
    ).ntk
    orbit = lambda x: action.act_all(x.unflatten(1, (28, 28))).flatten(2)  # noqa: E731
    x, labels = digits.x.flatten(1), torch.nn.functional.one_hot(digits.labels, 10).double()
    masks = class_masks(digits.labels, action.group)
    inverse = precision(ntk(orbit(x).flatten(0, 1)), 0.0)
    everywhere = labels.repeat_interleave(turns, 0)
    for kernel in (ntk, lambda a, b: ntk(a, b)):
        result = leave_out_streamed(kernel, orbit, x, labels, masks, action.group, 0.0, memory="100MB")
        for number, mask in enumerate(masks):
            dense = leave_out_residual(inverse, everywhere, mask.flatten().nonzero()[:, 0])
            assert (result.residual[result.sets == number] - dense).abs().max() < GROUP_LEAVE_OUT


def test_coarse_pairs_do_not_reach_the_residuals():
    """Every coincident pair off by 1e-8, as an inner product rounded up or down makes it."""
    action = data.rotation(16, "orthogonal")
    digits = data.mnist_sample().per_class(3, seed=0).standardised()
    ntk = kernels.infinite_width(torch.nn.Sequential(torch.nn.Linear(784, 2), torch.nn.ReLU())).ntk
    orbit = lambda x: action.act_all(x.unflatten(1, (28, 28))).flatten(2)  # noqa: E731

    def coarse(a, b):
        result = ntk(a, b)
        return result if b is a else result - 1e-8 * (torch.cdist(a, b) < 1e-6)

    x, labels = digits.x.flatten(1), torch.nn.functional.one_hot(digits.labels, 10).double()
    masks = class_masks(digits.labels, action.group)
    arguments = (orbit, x, labels, masks, action.group, 0.0)
    fine = leave_out_streamed(ntk, *arguments, memory="2MB", panel=7)
    rough = leave_out_streamed(coarse, *arguments, memory="2MB", panel=7)
    assert (fine.residual - rough.residual).abs().max() < 1e-11


def test_blocks_the_kernel_does_not_see_are_explained():
    group, m = GROUPS["D5"](), 3
    x, orbit, _ = permuted(group, m, 1)
    sums = lambda a, b: torch.exp(-(a.sum(1)[:, None] - b.sum(1)).square() / 50)  # noqa: E731
    missing = random_missing(group, m, 2, share=0.1)
    result = leave_out_streamed(sums, orbit, x, random_labels(m, 1), missing, group, 0.0, memory="2MB")
    assert torch.equal(result.residual, torch.zeros_like(result.residual))
    assert "every non-trivial irrep" in result.explanation


def test_bad_input_is_refused():
    group, m = cyclic(4), 3
    x, orbit, kernel = permuted(group, m, 0)
    labels, missing = random_labels(m, 0), random_missing(group, m, 0)
    with pytest.raises(InputError, match=r"a block of 3 rows .* takes [\d.]+ kB"):
        leave_out_streamed(kernel, orbit, x, labels, missing, group, 0.0, memory=1000)
    with pytest.raises(InputError, match="orbit: expected 4 points for each of 3 samples"):
        leave_out_streamed(kernel, lambda x: orbit(x)[:, :3], x, labels, missing, group, 0.0, memory="2MB")
    with pytest.raises(SingularKernelError, match=r"irrep k=0.*remove them or use a ridge"):
        leave_out_streamed(kernel, orbit, x[:1].expand(3, -1), labels, missing, group, 0.0, memory="2MB")
    with pytest.raises(InputError, match="ridge: expected a finite number"):
        leave_out_streamed(kernel, orbit, x, labels, missing, group, -1.0, memory="2MB")
    with pytest.raises(InputError, match="one sample or more"):
        leave_out_streamed(kernel, orbit, x[:0], labels, missing, group, 0.0, memory="2MB")
    with pytest.raises(InputError, match="averages at all"):
        leave_out_streamed(
            lambda a, b: torch.zeros(len(a), len(b)).double(),
            orbit,
            x,
            labels,
            missing,
            group,
            0.0,
            memory="2MB",
        )
    with pytest.raises(InputError, match="panel: expected a positive"):
        orbits_per_panel(10, 0)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", ["C8", "D5", "Q8"])
def test_a_gpu_gives_the_same(name):
    group, m = GROUPS[name](), 70
    x, _, kernel = permuted(group, m, 3)
    moves = group.table[group.inverses]
    labels, missing = random_labels(m, 0, 2), random_missing(group, m, 1, share=0.1)

    def orbit(x):
        return x[:, moves.to(x.device)]

    here = leave_out_streamed(kernel, orbit, x, labels, missing, group, 0.01, memory="20MB")
    there = leave_out_streamed(kernel, orbit, x, labels, missing, group, 0.01, memory="20MB", device="cuda")
    torch.testing.assert_close(there.residual, here.residual, rtol=0, atol=GROUP_LEAVE_OUT)


def test_single_precision_streams():
    group, m = GROUPS["Q8"](), 4
    x, orbit, kernel = permuted(group, m, 3)
    labels, missing = random_labels(m, 0), random_missing(group, m, 1)
    exact = leave_out_streamed(kernel, orbit, x, labels, missing, group, 0.5, memory="2MB")

    def rough_kernel(a, b):
        return kernel(a, b).float()

    rough = leave_out_streamed(rough_kernel, orbit, x.float(), labels, missing, group, 0.5, memory="2MB")
    torch.testing.assert_close(rough.residual.double(), exact.residual, rtol=0, atol=100 * SINGLE)


@pytest.fixture
def _nothing_is_zero_by_chance():
    """Memory that is not written to is NaN."""
    torch.use_deterministic_algorithms(True)
    assert torch.utils.deterministic.fill_uninitialized_memory
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("_nothing_is_zero_by_chance")
@pytest.mark.parametrize("memory", ["100KB", "10MB"])
def test_a_network_that_pools_over_the_group_has_no_error_within_any_budget(memory):
    group, m = cyclic(8), 20
    x, orbit, _ = permuted(group, m, 1)
    pooled = lambda a, b: torch.exp(-(torch.cdist(a.sin().sum(1)[:, None], b.sin().sum(1)[:, None]) ** 2))  # noqa: E731
    labels, missing = random_labels(m, 0), torch.zeros(m, 8, dtype=torch.bool)
    missing[3, 2], missing[7, 1:4] = True, True
    result = leave_out_streamed(pooled, orbit, x, labels, missing, group, 0.0, memory=memory, panel=10)
    assert torch.equal(result.residual, torch.zeros_like(result.residual))
    assert result.explanation


@pytest.mark.parametrize("streamed", [False, True])
def test_a_kernel_or_orbits_that_do_not_match_the_group_are_refused(streamed):
    group, m = cyclic(4), 3
    x, orbit, kernel = permuted(group, m, 0)
    labels, missing = random_labels(m, 0), random_missing(group, m, 0)

    def asked(kernel, orbit, group):
        if streamed:
            return leave_out_streamed(kernel, orbit, x, labels, missing, group, 0.0, memory="1MB")
        return leave_out(kernel_profile(kernel, orbit, x, group), labels, missing, group, 0.0)

    assert asked(kernel, orbit, group).residual.isfinite().all()
    weighted = lambda a, b: kernel(a * torch.arange(1.0, 5.0), b * torch.arange(1.0, 5.0))  # noqa: E731
    with pytest.raises(InputError, match=r"is not invariant under C4 .* projected_profile"):
        asked(weighted, orbit, group)
    with pytest.raises(InputError, match="is not invariant under C2xC2"):
        asked(kernel, orbit, direct_product(cyclic(2), cyclic(2)))
    with pytest.raises(InputError, match="one entry for every pair of"):
        asked(lambda a, b: kernel(a, b)[:1], orbit, group)
    with pytest.raises(InputError, match="kernel: expected finite entries"):
        asked(lambda a, b: kernel(a, b) / 0.0, orbit, group)
    x[1, 2] = torch.nan
    with pytest.raises(InputError, match="samples: expected finite numbers"):
        asked(kernel, orbit, group)


def test_splines_that_are_only_nearly_rotations_are_refused():
    action = data.rotation(8, "spline")
    digits = data.mnist_sample().per_class(1, seed=0).standardised()
    with pytest.raises(InputError, match="is not invariant under C8"):
        kernel_profile(lambda a, b: a.flatten(1) @ b.flatten(1).T, action.act_all, digits.x, action.group)


@pytest.mark.parametrize(
    ("device", "message"), [("banana", "device: expected .* got 'banana'"), ("cuda:99", "torch sees")]
)
def test_devices_that_are_not_there_are_named(device, message):
    group = cyclic(4)
    x, orbit, kernel = permuted(group, 2, 0)
    labels, missing = random_labels(2, 0), random_missing(group, 2, 0)
    with pytest.raises(InputError, match=message):
        leave_out_streamed(kernel, orbit, x, labels, missing, group, 0.0, memory="1MB", device=device)
    with pytest.raises(InputError, match=message):
        leave_out(kernel_profile(kernel, orbit, x, group), labels, missing, group, 0.0, device=device)
