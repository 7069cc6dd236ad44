"""The exact group form against dense regression, for many groups, orbits, labels and missing sets."""

from __future__ import annotations

import inspect
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import InputError
from symscope.errors import SingularKernelError
from symscope.groups import cyclic, dihedral, symmetric
from symscope.groups.named_groups import quaternion
from symscope.spectral import class_masks, leave_out, precision, profile_gram, projected_profile
from symscope.spectral.circulant import circulant_spectrum, spectral_error
from symscope.spectral.dense import leave_one_out_residuals
from symscope.spectral.irrep_blocks import frequencies
from tests.spectral.orbit_problems import (
    GROUPS,
    dense_residuals,
    feature_profile,
    kept_profile,
    random_missing,
    random_profile,
)
from tests.spectral.problems import random_gram, random_labels, random_row
from tests.tolerances import GROUP_LEAVE_OUT, ROUNDING, SINGLE

names = st.sampled_from(sorted(GROUPS))
seeds = st.integers(0, 999)


@given(names, st.integers(1, 4), seeds, st.sampled_from([0.0, 0.2]), st.sampled_from([(), (3,), (2, 2)]))
def test_every_group_gives_the_dense_residuals(name, m, seed, ridge, shape):
    group = GROUPS[name]()
    m = m if group.order > 1 else m + 1
    profile, labels = random_profile(group, m, seed), random_labels(m, seed, *shape)
    missing = random_missing(group, m, seed)
    result = leave_out(profile, labels, missing, group, ridge)
    dense = dense_residuals(profile, labels, missing, group, ridge)
    torch.testing.assert_close(result.residual, dense, rtol=0, atol=GROUP_LEAVE_OUT)
    torch.testing.assert_close(result.prediction + result.residual, result.label, rtol=0, atol=ROUNDING)
    torch.testing.assert_close(torch.stack([result.samples, result.elements], 1), missing.nonzero())
    assert sum(one.share for one in result.irreps) == pytest.approx(1, abs=1e-9)
    assert sum(one.weight for one in result.irreps) == pytest.approx(1, abs=1e-9)
    assert result.explanation == ""
    assert result.points == m * group.order


@given(names, seeds, st.sampled_from([0.0, 0.3]))
def test_orbits_that_are_not_free_give_the_dense_residuals_on_different_points(name, seed, ridge):
    group = GROUPS[name]()
    generator = torch.Generator().manual_seed(seed)
    m = 4
    picks = torch.randint(group.order, (m,), generator=generator).tolist()
    stabilisers = [group.subgroup([g]) if s else torch.tensor([0]) for s, g in enumerate(picks)]
    profile = kept_profile(group, stabilisers, seed)
    labels, missing = random_labels(m, seed, 2), random_missing(group, m, seed, share=0.15)
    missing[0, 0] = False  # so that something stays
    missing[1, 0] = True
    result = leave_out(profile, labels, missing, group, ridge, stabilisers=stabilisers)
    dense = dense_residuals(profile, labels, missing, group, ridge, stabilisers)
    torch.testing.assert_close(result.residual, dense, rtol=0, atol=GROUP_LEAVE_OUT)
    assert result.points == sum(group.order // len(h) for h in stabilisers)
    assert ("cosets" in result.explanation) == any(len(h) > 1 for h in stabilisers)
    assert sum(one.weight for one in result.irreps) == pytest.approx(1, abs=1e-9)


def test_every_leave_out_class_comes_from_one_factorisation():
    group, m = dihedral(3), 6
    profile = random_profile(group, m, 3)
    classes = torch.tensor([7, 4, 7, 5, 4, 5])
    labels = torch.nn.functional.one_hot(classes - 4, 4).double()
    masks = class_masks(classes, group, element=2)
    together = leave_out(profile, labels, masks, group, 0.1)
    for k, mask in enumerate(masks):
        alone = leave_out(profile, labels, mask, group, 0.1)
        torch.testing.assert_close(together.residual[together.sets == k], alone.residual)
        dense = dense_residuals(profile, labels, mask, group, 0.1)
        torch.testing.assert_close(alone.residual, dense, rtol=0, atol=GROUP_LEAVE_OUT)
    assert together.elements.unique().tolist() == [2]


def test_the_way_to_the_inverse_changes_nothing():
    # one small set goes through triangular solves, many large ones through the whole inverse
    group, m = cyclic(6), 9
    profile, labels = random_profile(group, m, 5), random_labels(m, 5)
    small = torch.zeros(m, group.order, dtype=torch.bool)
    small[4, 1] = True
    large = torch.stack([random_missing(group, m, k) for k in range(5)])
    result = leave_out(profile, labels, torch.cat([small[None], large]), group, 0.0)
    dense = dense_residuals(profile, labels, small, group, 0.0)
    torch.testing.assert_close(result.residual[result.sets == 0], dense, rtol=0, atol=GROUP_LEAVE_OUT)
    alone = leave_out(profile, labels, small, group, 0.0)
    torch.testing.assert_close(alone.residual, dense, rtol=0, atol=GROUP_LEAVE_OUT)


@given(st.integers(1, 7), seeds, st.sampled_from([0.0, 0.2]))
def test_two_interleaved_orbits_of_a_circulant_kernel_give_equation_7(half, seed, ridge):
    row = random_row(2 * half, seed)
    even, odd = row[0::2], row[1::2]
    # B is the seed half a step further: k(A, d B) = row[2d + 1], and A lies half a step behind B
    back = odd.roll(1)
    profile = torch.stack([torch.stack([even, odd]), torch.stack([back, even])])
    labels = torch.tensor([1.0, -1.0], dtype=torch.float64)
    missing = torch.zeros(2, half, dtype=torch.bool)
    missing[0, 0] = True
    result = leave_out(profile, labels, missing, cyclic(half), ridge)
    formula = spectral_error(circulant_spectrum(row), ridge)
    torch.testing.assert_close(result.residual[0], formula, rtol=0, atol=GROUP_LEAVE_OUT)


def test_shares_are_the_sensitivities_of_the_error():
    """Strengthening one irrep by a little raises the error by its share, except for the labels' own."""
    group, m = symmetric(3), 3
    profile, labels = random_profile(group, m, 8), random_labels(m, 8)
    missing = torch.zeros(m, group.order, dtype=torch.bool)
    missing[1, 4] = True
    result = leave_out(profile, labels, missing, group, 0.0)
    step = 1e-6
    for frequency, one in zip(frequencies(group), result.irreps, strict=True):
        characters = torch.einsum("gii->g", frequency.matrices)
        # the part of the profile on this irrep: convolution with its character
        part = (
            frequency.dim
            / group.order
            * torch.einsum("stg,gd->std", profile, characters[group.table[group.inverses]])
        )
        moved = leave_out(profile + step * part, labels, missing, group, 0.0)
        slope = float((moved.residual / result.residual - 1) / step)
        assert slope == pytest.approx(one.share - (frequency.index == 0), abs=1e-4)


@pytest.mark.parametrize("name", ["C8", "C3xC4", "D5", "Q8"])
def test_pooling_over_the_symmetry_itself_leaves_no_error_and_says_why(name):
    group, m = GROUPS[name](), 3
    features = torch.randn(m, 7, 1, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    profile = feature_profile(group, features.expand(-1, -1, group.order).clone())
    missing = torch.zeros(m, group.order, dtype=torch.bool)
    missing[0, 0] = missing[0, 1] = missing[2, 1] = True
    result = leave_out(profile, random_labels(m, 1), missing, group, 0.0)
    assert torch.equal(result.residual, torch.zeros(3, dtype=torch.float64))
    assert "zero to rounding on every non-trivial irrep" in result.explanation
    assert "exactly zero" in result.explanation
    assert result.irreps[0].share == 0
    assert result.irreps[1].stiffness == float("inf")
    # the limit of a vanishing ridge
    ridged = leave_out(profile, random_labels(m, 1), missing, group, 1e-7)
    assert float(ridged.residual.abs().max()) < 1e-6
    assert ridged.explanation == ""


def test_pooling_over_a_part_of_the_symmetry_is_the_limit_of_a_vanishing_ridge():
    group, m = cyclic(6), 3
    generator = torch.Generator().manual_seed(4)
    features = torch.randn(m, 9, 3, generator=generator, dtype=torch.float64).repeat(1, 1, 2)
    profile = feature_profile(group, features)  # x and r^3 x look the same
    labels = random_labels(m, 6)
    missing = torch.zeros(2, m, 6, dtype=torch.bool)
    missing[0, 1, 2] = True  # its twin, 5, is seen
    missing[1, 1, [2, 5]] = True  # both gone
    missing[1, 2, 1] = True
    result = leave_out(profile, labels, missing, group, 0.0)
    near = leave_out(profile, labels, missing, group, 1e-9)
    torch.testing.assert_close(result.residual, near.residual, rtol=0, atol=1e-6)
    assert float(result.residual[0]) == 0
    assert float(result.residual[1].abs()) > 0.05
    assert "irreps k=1, k=3" in result.explanation
    assert "exactly zero" not in result.explanation


@pytest.mark.parametrize("executor", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_workers_change_nothing(executor):
    group, m = quaternion(), 3
    profile, labels, missing = random_profile(group, m, 1), random_labels(m, 1), random_missing(group, m, 1)
    here = leave_out(profile, labels, missing, group, 0.0)
    import multiprocessing

    options = {"mp_context": multiprocessing.get_context("spawn")} if executor is ProcessPoolExecutor else {}
    with executor(2, **options) as pool:
        there = leave_out(profile, labels, missing, group, 0.0, executor=pool, memory=1)
    torch.testing.assert_close(here.residual, there.residual, rtol=0, atol=0)


def test_memory_decides_how_not_what():
    group, m = GROUPS["C3xC4"](), 4
    profile, labels, missing = random_profile(group, m, 2), random_labels(m, 2), random_missing(group, m, 2)
    fft = leave_out(profile, labels, missing, group, 0.0)
    one_by_one = leave_out(profile, labels, missing, group, 0.0, memory=100)
    torch.testing.assert_close(fft.residual, one_by_one.residual, rtol=0, atol=GROUP_LEAVE_OUT)


def test_labels_of_points_may_be_given():
    group, m = cyclic(3), 2
    profile, labels, missing = random_profile(group, m, 4), random_labels(m, 4), random_missing(group, m, 4)
    result = leave_out(profile, labels.repeat_interleave(3), missing, group, 0.0)
    assert torch.equal(result.residual, leave_out(profile, labels, missing, group, 0.0).residual)
    with pytest.raises(InputError, match="one label per orbit, 2, or per point, 6; got 5"):
        leave_out(profile, random_labels(5, 0), missing, group, 0.0)
    with pytest.raises(InputError, match="finite"):
        leave_out(profile, labels * float("nan"), missing, group, 0.0)


def test_the_table_has_the_largest_share_first():
    group = dihedral(4)
    result = leave_out(
        random_profile(group, 2, 0), random_labels(2, 0), random_missing(group, 2, 0), group, 0.0
    )
    rows = result.table()
    assert len(rows) == 5
    assert [row["share"] for row in rows] == sorted((row["share"] for row in rows), reverse=True)
    assert [row["trivial"] for row in rows].count(True) == 1
    assert all(row["limits"] == (row["share"] < row["weight"] and not row["trivial"]) for row in rows)


def test_every_missing_point_is_a_row_of_the_point_table():
    group, m = dihedral(3), 3
    profile, missing = random_profile(group, m, 2), random_missing(group, m, 2)
    one_hot = torch.eye(3, dtype=torch.float64)[[2, 0, 1]]
    result = leave_out(profile, one_hot, missing, group, 0.1)
    rows = result.point_table()
    assert [(row["sample"], row["element"]) for row in rows] == [tuple(p) for p in missing.nonzero().tolist()]
    assert [[row[f"prediction {c}"] for c in range(3)] for row in rows] == result.prediction.tolist()
    assert [row["right"] for row in rows] == (
        result.prediction.argmax(1) == one_hot.argmax(1)[result.samples]
    ).tolist()
    signs = leave_out(profile, torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64), missing, group, 0.1)
    assert [row["right"] for row in signs.point_table()] == (signs.prediction * signs.label > 0).tolist()
    assert {row["right"] for row in signs.point_table()} | {row["right"] for row in rows} == {True, False}


def test_bad_input_is_refused():
    group, m = cyclic(4), 2
    profile, labels, missing = random_profile(group, m, 0), random_labels(m, 0), random_missing(group, m, 0)
    with pytest.raises(InputError, match=r"Hermitian.*projected_profile"):
        leave_out(profile + 0.1 * torch.arange(4), labels, missing, group, 0.0)
    with pytest.raises(InputError, match="D3 has 6: the group does not match"):
        leave_out(profile, labels, missing, dihedral(3), 0.0)
    with pytest.raises(InputError, match="is empty"):
        leave_out(profile, labels, torch.zeros_like(missing), group, 0.0)
    with pytest.raises(InputError, match="missing set 1 holds all 8 points"):
        leave_out(profile, labels, torch.stack([missing, torch.ones_like(missing)]), group, 0.0)
    with pytest.raises(InputError, match="missing: expected a mask"):
        leave_out(profile, labels, missing[:, :3], group, 0.0)
    asked = inspect.unwrap(leave_out)  # the checks of the test suite would stop these earlier
    with pytest.raises(InputError, match=r"True and False, got torch.float32; use mask != 0"):
        asked(profile, labels, missing.float(), group, 0.0)
    with pytest.raises(InputError, match="finite real numbers"):
        asked(profile, labels + 1j, missing, group, 0.0)
    for other in (profile.half(), profile + 0j):
        with pytest.raises(InputError, match="a profile is in float64 or float32"):
            asked(other, labels, missing, group, 0.0)
    with pytest.raises(InputError, match=r"a profile is \[samples, samples, elements\]"):
        asked(profile[0], labels, missing, group, 0.0)
    with pytest.raises(InputError, match="at least one set"):
        leave_out(profile, labels, missing[None][:0], group, 0.0)
    with pytest.raises(InputError, match="ridge: expected a finite number"):
        leave_out(profile, labels, missing, group, -1e-3)
    with pytest.raises(InputError, match="does not fix sample 1"):
        leave_out(profile, labels, missing, group, 0.0, stabilisers=[torch.tensor([0]), torch.tensor([0, 2])])
    with pytest.raises(InputError, match="one for each of 2 samples"):
        leave_out(profile, labels, missing, group, 0.0, stabilisers=[torch.tensor([0])])


def test_singular_blocks_are_explained():
    group = cyclic(4)
    kept = [torch.tensor([0]), torch.tensor([0, 2])]
    profile, missing = kept_profile(group, kept, 0), random_missing(group, 2, 0)
    with pytest.raises(SingularKernelError, match=r"k=1.*sample 1 looks the same under e, r\^2.*stabilisers"):
        leave_out(profile, random_labels(2, 0), missing, group, 0.0)
    assert leave_out(profile, random_labels(2, 0), missing, group, 0.0, stabilisers=kept).points == 6
    twice = random_profile(group, 1, 0).expand(2, 2, 4).clone()
    with pytest.raises(SingularKernelError, match=r"k=0.*Two samples lie on one orbit"):
        leave_out(twice, random_labels(2, 0), missing, group, 0.0)
    mean_free = random_profile(group, 1, 0)
    mean_free = mean_free - mean_free.mean()
    with pytest.raises(InputError, match="averages at all"):
        leave_out(mean_free, random_labels(1, 0), random_missing(group, 1, 0), group, 0.0)


def test_single_points_agree_with_dense_leave_one_out():
    group = cyclic(5)
    profile, labels = random_profile(group, 2, 9), torch.tensor([1.0, -1.0], dtype=torch.float64)
    dense = leave_one_out_residuals(precision(profile_gram(profile, group), 0.0), labels.repeat_interleave(5))
    masks = torch.eye(10, dtype=torch.bool).reshape(10, 2, 5)
    result = leave_out(profile, labels, masks, group, 0.0)
    torch.testing.assert_close(result.residual, dense, rtol=0, atol=GROUP_LEAVE_OUT)


@pytest.mark.parametrize("name", ["C8", "D5", "Q8"])
def test_single_precision_gives_single_precision(name):
    group, m = GROUPS[name](), 3
    profile, labels, missing = random_profile(group, m, 2), random_labels(m, 2), random_missing(group, m, 2)
    exact = leave_out(profile, labels, missing, group, 0.5).residual
    rough = leave_out(profile.float(), labels, missing, group, 0.5).residual
    assert rough.dtype == torch.float32
    torch.testing.assert_close(rough.double(), exact, rtol=0, atol=100 * SINGLE)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", ["C8", "D5", "Q8"])
def test_a_gpu_gives_the_same(name):
    group, m = GROUPS[name](), 6
    profile, labels, missing = random_profile(group, m, 2), random_labels(m, 2), random_missing(group, m, 2)
    here = leave_out(profile, labels, missing, group, 0.0).residual
    for result in (
        leave_out(profile, labels, missing, group, 0.0, device="cuda"),
        leave_out(profile.cuda(), labels.cuda(), missing, group, 0.0),
    ):
        torch.testing.assert_close(result.residual, here, rtol=0, atol=GROUP_LEAVE_OUT)


def test_projected_profiles_in_single_precision_go_through():
    group = cyclic(6)
    gram = random_gram(3 * 6, 2)
    labels, missing = random_labels(3, 0), random_missing(group, 3, 0)
    wide = leave_out(projected_profile(gram, group).profile, labels, missing, group, 0.5)
    one = leave_out(projected_profile(gram.float(), group).profile, labels, missing, group, 0.5)
    torch.testing.assert_close(one.residual.double(), wide.residual, rtol=0, atol=1e-4)


def test_stabilisers_are_checked_to_the_precision_of_the_profile():
    group, stabilisers = cyclic(6), [torch.tensor([0, 3]), torch.tensor([0])]
    exact = kept_profile(group, stabilisers, 1)
    profile = exact.to(torch.float32)
    profile[0, 0, [1, 5]] += 1e-7 * profile.abs().max()
    missing = torch.zeros(2, 6, dtype=torch.bool)
    missing[0, 0] = missing[1, 2] = True
    labels = torch.tensor([1.0, -0.5])
    result = leave_out(profile, labels, missing, group, 0.0, stabilisers=stabilisers)
    expected = leave_out(exact, labels.double(), missing, group, 0.0, stabilisers=stabilisers)
    torch.testing.assert_close(result.prediction.double(), expected.prediction, rtol=0, atol=100 * SINGLE)
    with pytest.raises(InputError, match="does not fix sample 0"):
        leave_out(profile.double(), labels.double(), missing, group, 0.0, stabilisers=stabilisers)
