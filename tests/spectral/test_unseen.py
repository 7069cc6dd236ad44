"""Kernels that are zero on some irreps: against minimum-norm regression, in both precisions, and refusals."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from symscope import InputError
from symscope.groups import FiniteGroup, cyclic
from symscope.groups.fourier import fourier, inverse_fourier
from symscope.spectral import leave_out, leave_out_streamed, profile_gram
from symscope.spectral.irrep_blocks import frequencies
from tests.spectral.orbit_problems import GROUPS, feature_profile, kept_profile, random_missing
from tests.spectral.problems import random_labels
from tests.tolerances import SINGLE

DIRECT = 1e-6  # the oracle inverts a matrix of deficient rank, whose least eigenvalue is 1e-7 of the largest


def without_irreps(profile: Tensor, group: FiniteGroup, dropped: set[int]) -> Tensor:
    """A profile with the blocks of some frequencies, and of their conjugates, set to zero."""
    gone = {
        conjugate
        for one in frequencies(group)
        if one.index in dropped
        for conjugate in _both(one.index, group)
    }
    blocks = [0 * b if i in gone else b for i, b in enumerate(fourier(profile, group))]
    return inverse_fourier(blocks, group).real.contiguous()


def _both(index: int, group: FiniteGroup) -> list[int]:
    """An irrep and its conjugate: blocks of a real function with random values are conjugate there."""
    values = torch.randn(group.order, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    traces = [torch.einsum("ii->", b) for b in fourier(values, group)]
    same = [abs(t.conj() - traces[index]) < 1e-9 for t in traces]
    return [index, *(i for i, is_same in enumerate(same) if is_same)]


def least_norm_residual(gram: Tensor, labels: Tensor, missing: Tensor) -> tuple[Tensor, float]:
    """By the pseudo-inverse of the kernel of the seen points; and how clear its rank was."""
    seen = gram[~missing][:, ~missing]
    values = torch.linalg.eigvalsh(seen).abs() / torch.linalg.eigvalsh(seen).abs().max()
    unclear = float(values[(values > 1e-13) & (values < 1e-7)].numel())
    inverse = torch.linalg.pinv(seen, rtol=1e-10, hermitian=True)
    return labels[missing] - gram[missing][:, ~missing] @ inverse @ labels[~missing], unclear


@given(
    st.sampled_from(sorted(set(GROUPS) - {"C1"})),
    st.integers(1, 3),
    st.integers(0, 999),
    st.sampled_from([0.2, 0.5, 0.8]),
    st.data(),
)
def test_the_limit_is_regression_of_least_norm(name, m, seed, share, data):
    group = GROUPS[name]()
    others = [one.index for one in frequencies(group) if one.index != 0]
    dropped = data.draw(st.sets(st.sampled_from(others), min_size=1))
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(m, 2 * m, group.order, generator=generator, dtype=torch.float64)
    profile = without_irreps(feature_profile(group, features, 0.3), group, dropped)
    missing, labels = random_missing(group, m, seed, share), random_labels(m, seed)
    points = labels.repeat_interleave(group.order)
    dense, unclear = least_norm_residual(profile_gram(profile, group), points, missing.flatten())
    assume(not unclear)
    result = leave_out(profile, labels, missing, group, 0.0)
    torch.testing.assert_close(result.residual, dense, rtol=0, atol=DIRECT)
    assert "zero to rounding" in result.explanation
    assert sum(one.share for one in result.irreps) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("name", [*sorted(set(GROUPS) - {"C1"}), "C64"])
def test_an_orbit_nobody_has_seen_is_predicted_from_the_others(name, dtype):
    group = cyclic(64) if name == "C64" else GROUPS[name]()
    base = torch.tensor([[2.0, 0.5, 0.1], [0.5, 3.0, 0.2], [0.1, 0.2, 1.0]], dtype=dtype)
    profile = base[:, :, None].repeat(1, 1, group.order)  # every element looks the same
    missing = torch.zeros(3, group.order, dtype=torch.bool)
    missing[0] = True
    labels = torch.tensor([1.0, -1.0, 0.5], dtype=dtype)
    expected = float(base[0, 1:] @ torch.linalg.solve(base[1:, 1:], labels[1:]))
    result = leave_out(profile, labels, missing, group, 0.0)
    assert result.prediction.dtype == dtype
    assert result.prediction.tolist() == pytest.approx([expected] * group.order, abs=SINGLE)
    streamed = leave_out_streamed(
        lambda a, b: base[a[:, 0].long()][:, b[:, 0].long()],
        lambda x: x[:, None].expand(-1, group.order, -1),
        torch.arange(3.0, dtype=dtype)[:, None],
        labels,
        missing,
        group,
        0.0,
        memory="1GB",
    )
    assert streamed.prediction.tolist() == pytest.approx([expected] * group.order, abs=SINGLE)


def waves(order: int, highest: int) -> Tensor:
    """A kernel of the frequencies up to the highest, on two orbits that know of each other."""
    turn = 2 * math.pi * torch.arange(order, dtype=torch.float64) / order
    row = sum((1 if f == 0 else 2) * torch.cos(f * turn) for f in range(highest + 1)) / order
    return torch.tensor([[1.0, 0.3], [0.3, 1.0]], dtype=torch.float64)[:, :, None] * row


@pytest.mark.parametrize(("order", "highest", "gone"), [(32, 3, 20), (32, 5, 16), (64, 5, 32), (128, 3, 80)])
def test_a_band_of_waves_reaches_over_a_long_gap(order, highest, gone):
    """The seen points fix all 2 k + 1 waves, however small the angle they are seen under."""
    missing = torch.zeros(2, order, dtype=torch.bool)
    missing[0, :gone] = True
    labels = torch.tensor([1.0, -1.0], dtype=torch.float64)
    result = leave_out(waves(order, highest), labels, missing, cyclic(order), 0.0)
    assert torch.equal(result.residual, torch.zeros(gone, dtype=torch.float64))
    assert "exactly zero" in result.explanation


def test_waves_with_fewer_points_than_unknowns_leave_a_residual():
    missing = torch.zeros(2, 16, dtype=torch.bool)
    missing[0, :12] = True  # four points for seven waves
    labels = torch.tensor([1.0, -1.0], dtype=torch.float64)
    result = leave_out(waves(16, 3), labels, missing, cyclic(16), 0.0)
    dense, _ = least_norm_residual(
        profile_gram(waves(16, 3), cyclic(16)), labels.repeat_interleave(16), missing.flatten()
    )
    torch.testing.assert_close(result.residual, dense, rtol=0, atol=DIRECT)
    assert float(result.residual.abs().max()) > 0.1


@pytest.mark.parametrize(("order", "gone"), [(32, 10), (48, 20)])
def test_what_depends_on_rounding_is_refused(order, gone):
    """A smooth kernel is never zero; below rounding nobody knows what it is, and long gaps ask just that."""
    turn = 2 * math.pi * torch.arange(order, dtype=torch.float64) / order
    profile = torch.exp(torch.cos(turn) - 1)[None, None]
    missing = torch.zeros(1, order, dtype=torch.bool)
    missing[0, :gone] = True
    with pytest.raises(InputError, match=r"depend on irreps k=13, .* only to rounding.*or use a ridge"):
        leave_out(profile, torch.ones(1, dtype=torch.float64), missing, cyclic(order), 0.0)
    missing[0, 1:] = False  # one point alone does not
    result = leave_out(profile, torch.ones(1, dtype=torch.float64), missing, cyclic(order), 0.0)
    assert result.prediction.tolist() == pytest.approx([1.0], abs=1e-6)


def test_irreps_that_do_not_occur_on_cosets_are_not_called_zero():
    group = cyclic(4)
    profile = torch.tensor([2.0, 0.5, 2.0, 0.5], dtype=torch.float64)[None, None]
    missing = torch.tensor([[True, False, False, False]])
    labels = torch.ones(1, dtype=torch.float64)
    result = leave_out(profile, labels, missing, group, 0.0, stabilisers=[torch.tensor([0, 2])])
    assert "zero to rounding" not in result.explanation
    assert [(one.irrep, one.weight) for one in result.irreps if one.irrep == "k=1"] == [("k=1", 0.0)]
    assert all(math.isfinite(one.stiffness) for one in result.irreps)
    assert result.prediction.tolist() == pytest.approx([0.25])  # from one point: 0.5 / 2


@pytest.mark.parametrize("name", ["C8", "D5", "S4", "Q8"])
def test_cosets_of_a_kernel_that_is_zero_on_an_irrep(name):
    group = GROUPS[name]()
    one = next(
        g for g in range(group.order) if g != group.identity and int(group.table[g, g]) == group.identity
    )
    stabilisers = [torch.tensor([group.identity, one]), torch.tensor([group.identity])]
    last = frequencies(group)[-1].index
    profile = without_irreps(kept_profile(group, stabilisers, 3), group, {last})
    missing, labels = random_missing(group, 2, 5), random_labels(2, 5)
    result = leave_out(profile, labels, missing, group, 0.0, stabilisers=stabilisers)
    near = leave_out(profile, labels, missing, group, 1e-9, stabilisers=stabilisers)
    torch.testing.assert_close(result.residual, near.residual, rtol=0, atol=DIRECT)
    assert "zero to rounding" in result.explanation
