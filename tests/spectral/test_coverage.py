"""Regression on a coverage against dense regression in double precision."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from symscope import InputError, data
from symscope.groups import cyclic, dihedral
from symscope.kernels.classical import rbf_kernel
from symscope.spectral import coverage_cost, coverage_regression, profile_gram, projected_profile
from tests.spectral.orbit_problems import GROUPS
from tests.spectral.problems import random_labels

ORACLE = 1e-9
ORBITS = {**GROUPS, "D4": lambda: dihedral(4)}


def dense(gram, labels, seen, ridge):
    """Predictions at every point, training points first, by solving on the seen ones."""
    there = seen.flatten().nonzero()[:, 0]
    regular = gram[there][:, there] + ridge * torch.eye(len(there), dtype=gram.dtype)
    weights = torch.linalg.solve(regular, labels.repeat_interleave(seen.shape[1], 0)[there])
    return gram[:, there] @ weights


def problem(group, m, k, seed, off=0.0):
    """Points of m training and k new samples under the regular representation, moved off it a little."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(m + k, group.order, generator=generator, dtype=torch.float64)
    points = x[:, group.table[group.inverses]]
    points = points + off * torch.randn(points.shape, generator=generator, dtype=torch.float64)
    return points[:m], points[m:], rbf_kernel(1.5 * group.order**0.5)


def random_coverages(sets, m, group, seed, share):
    generator = torch.Generator().manual_seed(seed)
    seen = torch.rand(sets, m, group.order, generator=generator) < share
    seen[:, 0, 0] = True
    return seen


def split(prediction, group, m):
    shaped = prediction.unflatten(0, (-1, group.order))
    return shaped[:m], shaped[m:]


@settings(max_examples=12, deadline=None)
@given(
    name=st.sampled_from(["C8", "D4", "C3xC4", "Q8"]),
    m=st.integers(1, 5),
    k=st.integers(0, 3),
    off=st.sampled_from([0.0, 0.1]),
    ridge=st.sampled_from([0.0, 0.05]),
    share=st.floats(0.1, 1.0),
    memory=st.sampled_from(["40kB", "4GB"]),
    seed=st.integers(0, 1000),
)
def test_the_group_form_is_dense_regression_with_the_projected_kernel(
    name, m, k, off, ridge, share, memory, seed
):
    group = ORBITS[name]()
    points, new, kernel = problem(group, m, k, seed, off)
    labels = random_labels(m, seed, 2)
    seen = random_coverages(2, m, group, seed, share)
    result = coverage_regression(
        kernel, points, labels, seen, group, ridge, new=new, method="orbits", memory=memory
    )
    every = torch.cat([points, new]).flatten(0, 1)
    projected = projected_profile(kernel(every, every), group)
    gram = profile_gram(projected.profile, group)
    for number in range(2):
        train, fresh = split(dense(gram, labels, seen[number], ridge), group, m)
        torch.testing.assert_close(result.prediction[number], train, rtol=0, atol=ORACLE)
        torch.testing.assert_close(result.new_prediction[number], fresh, rtol=0, atol=ORACLE)
    train_only = projected_profile(kernel(*[points.flatten(0, 1)] * 2), group).invariance_error
    assert result.invariance_error == pytest.approx(train_only, abs=1e-9)
    assert (result.invariance_error > 0) == (off > 0)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_dense_and_feature_space_take_the_kernel_as_it_is(ridge):
    group, m = dihedral(3), 4
    points, new, kernel = problem(group, m, 2, 5, off=0.5)
    labels, seen = random_labels(m, 2), random_coverages(3, m, group, 1, 0.5)
    result = coverage_regression(kernel, points, labels, seen, group, ridge, new=new, method="dense")
    gram = kernel(*[torch.cat([points, new]).flatten(0, 1)] * 2)
    wide = torch.cat([points, new]).flatten(0, 1)[:, :5]  # 5 features, more points than that
    assert result.invariance_error is None
    linear = coverage_regression(
        None, points[..., :5], labels, seen, group, ridge or 1e-8, new=new[..., :5], method="features"
    )
    for number in range(3):
        train, fresh = split(dense(gram, labels[:, None], seen[number], ridge)[:, 0], group, m)
        torch.testing.assert_close(result.prediction[number], train, rtol=0, atol=ORACLE)
        torch.testing.assert_close(result.new_prediction[number], fresh, rtol=0, atol=ORACLE)
        # the limit of dense regression where there are fewer features than points: least squares
        there = seen[number].flatten().nonzero()[:, 0]
        y = labels.repeat_interleave(6)[there]
        some = torch.cat([wide[there], (ridge or 1e-8) ** 0.5 * torch.eye(5, dtype=torch.float64)])
        weights = torch.linalg.lstsq(some, torch.cat([y, y.new_zeros(5)])[:, None]).solution
        train, fresh = split((wide @ weights)[:, 0], group, m)
        torch.testing.assert_close(linear.prediction[number], train, rtol=0, atol=1e-8)
        torch.testing.assert_close(linear.new_prediction[number], fresh, rtol=0, atol=1e-8)


def test_the_way_follows_from_what_is_missing():
    group, m = cyclic(8), 6
    points, new, kernel = problem(group, m, 1, 0)
    labels = random_labels(m, 0, 3)
    once = torch.zeros(m, 8, dtype=torch.bool)
    once[torch.arange(m), torch.arange(m) % 8] = True
    nearly = torch.ones(m, 8, dtype=torch.bool)
    nearly[::2, 3] = False
    full = torch.ones(m, 8, dtype=torch.bool)
    result = coverage_regression(kernel, points, labels, torch.stack([once, nearly, full]), group, new=new)
    gram = kernel(*[torch.cat([points, new]).flatten(0, 1)] * 2)
    for number, seen in enumerate((once, nearly, full)):
        train, fresh = split(dense(gram, labels, seen, 0.0), group, m)
        torch.testing.assert_close(result.prediction[number], train, rtol=0, atol=ORACLE)
        torch.testing.assert_close(result.new_prediction[number], fresh, rtol=0, atol=ORACLE)
    assert result.methods[0] == "dense"
    many = torch.stack([one.repeat(20, 1) for one in (once, nearly, full)])
    cost = coverage_cost(kernel, points, many, group, outputs=3)
    assert cost.methods == ("dense", "orbits", "orbits")


@pytest.mark.parametrize("method", ["orbits", "dense"])
def test_nothing_missing_and_nothing_new_gives_the_fit(method):
    group = cyclic(3)
    points, _, kernel = problem(group, 4, 0, 1)
    labels, seen = random_labels(4, 5, 2), torch.ones(4, 3, dtype=torch.bool)
    result = coverage_regression(kernel, points, labels, seen, group, 0.5, method=method)
    expected = dense(kernel(points.flatten(0, 1)), labels, seen, 0.5).unflatten(0, (4, 3))
    torch.testing.assert_close(result.prediction[0], expected, rtol=0, atol=ORACLE)
    assert result.new_prediction.shape == (1, 0, 3, 2)


@pytest.mark.parametrize("method", ["orbits", "dense"])
@pytest.mark.parametrize("ridge", [0.0, 0.2])
def test_points_that_coincide_count_once(method, ridge):
    group = cyclic(4)
    points, new, kernel = problem(group, 4, 2, 3)
    points[1] = points[1, 0, [0, 1, 0, 1]][group.table[group.inverses]]  # fixed by the half turn
    labels, seen = random_labels(4, 1, 2), random_coverages(2, 4, group, 3, 0.6)
    seen[0, 1], seen[1, 1] = torch.tensor([True, False, False, False]), True
    result = coverage_regression(kernel, points, labels, seen, group, ridge, new=new, method=method)
    assert result.seen[0, 1].tolist() == [True, False, True, False]
    every = torch.cat([points, new]).flatten(0, 1)
    gram = kernel(every, every)
    different = torch.ones(4, 4, dtype=torch.bool)
    different[1, 2:] = False
    for number in range(2):
        train, fresh = split(dense(gram, labels, result.seen[number] & different, ridge), group, 4)
        torch.testing.assert_close(result.prediction[number], train, rtol=0, atol=ORACLE)
        torch.testing.assert_close(result.new_prediction[number], fresh, rtol=0, atol=ORACLE)


def test_a_kernel_that_does_not_see_an_irrep_predicts_new_samples_too():
    group = cyclic(6)
    points, new, _ = problem(group, 4, 3, 8)
    pooled = rbf_kernel(2.0)

    def kernel(a, b):
        """Of means over pairs half a turn apart: every odd irrep is out of sight."""
        return pooled(*(x.unflatten(1, (2, 3)).mean(1) for x in (a, b)))

    labels = random_labels(4, 8, 2)
    seen = torch.ones(4, 6, dtype=torch.bool)
    seen[:2, 1] = False
    result = coverage_regression(kernel, points, labels, seen, group, new=new, method="orbits")
    torch.testing.assert_close(result.prediction[0, :2, 1], labels[:2], rtol=0, atol=1e-7)
    half = torch.cat([points, new])[:, :3].flatten(0, 1)
    train = torch.arange(12)
    gram = kernel(half, half)
    weights = torch.linalg.solve(gram[:12][:, train], labels.repeat_interleave(3, 0))
    expected = (gram[12:][:, train] @ weights).unflatten(0, (3, 3)).repeat(1, 2, 1)
    torch.testing.assert_close(result.new_prediction[0], expected, rtol=0, atol=1e-7)
    assert "zero to rounding" in result.notes[0]


def test_a_singular_kernel_gets_a_ridge_and_a_note():
    group = cyclic(4)
    points, new, kernel = problem(group, 5, 1, 2)
    points[3] = points[1]
    labels, seen = random_labels(5, 3, 1), random_coverages(1, 5, group, 2, 0.8)
    for method in ("orbits", "dense"):
        result = coverage_regression(kernel, points, labels, seen, group, new=new, method=method)
        assert result.ridge == pytest.approx(1e-6)
        assert "singular" in result.notes[0]
        gram = kernel(*[torch.cat([points, new]).flatten(0, 1)] * 2)
        train, fresh = split(dense(gram, labels, seen[0], 1e-6), group, 5)
        torch.testing.assert_close(result.prediction[0], train, rtol=0, atol=1e-7)
        torch.testing.assert_close(result.new_prediction[0], fresh, rtol=0, atol=1e-7)


def test_images_turned_by_splines_are_projected_over_two_elements_only():
    action = data.rotation(8)
    x = torch.randn(5, 9, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    points = action.orbit(x).flatten(2)
    asked = []

    def kernel(a, b):
        asked.append(len(a) * len(b))
        return rbf_kernel(9.0)(a, b)

    seen = torch.ones(5, 8, dtype=torch.bool)
    seen[:2, 0] = False
    labels = random_labels(5, 0, 2)
    result = coverage_regression(kernel, points, labels, seen, action.group, method="orbits", new=points[:1])
    whole = projected_profile(kernel(*[points.flatten(0, 1)] * 2), action.group)
    assert result.invariance_error == pytest.approx(whole.invariance_error, rel=1e-9)
    train, _ = split(dense(profile_gram(whole.profile, action.group), labels, seen, 0.0), action.group, 5)
    torch.testing.assert_close(result.prediction[0], train, rtol=0, atol=ORACLE)
    assert max(asked[:-1]) <= 5 * 2 * 5 * 8  # rows at 0 and 45 degrees: the quarter turns change nothing
    assert "not invariant under C8" in result.notes[0]


def test_single_precision_holds_half_the_digits():
    group = cyclic(8)
    points, new, kernel = problem(group, 6, 2, 4)
    labels, seen = random_labels(6, 0, 2), random_coverages(2, 6, group, 4, 0.8)
    fine, rough = (
        coverage_regression(kernel, points, labels, seen, group, 0.1, new=new, method="orbits", dtype=dtype)
        for dtype in (None, torch.float32)
    )
    assert rough.prediction.dtype == torch.float64
    gap = (fine.new_prediction - rough.new_prediction).abs().max()
    assert 0 < gap < 1e-4


def test_cost_is_known_before():
    group = cyclic(8)
    points, _, kernel = problem(group, 2, 0, 4)
    seen = torch.ones(10, 4000, 8, dtype=torch.bool)
    for c in range(10):
        seen[c, 400 * c : 400 * (c + 1), 0] = False
    cost = coverage_cost(kernel, points, seen, group, outputs=10, new_samples=1000)
    assert set(cost.methods) == {"orbits"}
    assert cost.entries == 4000**2 * 8 / 2 + 1000 * 4000 * 8
    assert 4e11 < cost.operations < 1e12
    assert 0.5e9 < cost.bytes < 2e9
    assert cost.seconds > 0
    small = coverage_cost(kernel, points, seen, group, outputs=10, new_samples=1000, memory="700MB")
    assert small.entries > cost.entries
    assert small.bytes < 7e8
    once = torch.zeros(4000, 8, dtype=torch.bool)
    once[:, 0] = True
    assert coverage_cost(kernel, points, once, group, outputs=10).methods == ("dense",)
    features = torch.randn(2, 8, 300, dtype=torch.float64)
    assert set(coverage_cost(None, features, seen, group, outputs=10).methods) == {"features"}


def test_bad_input_gets_one_line():
    group = cyclic(4)
    points, new, kernel = problem(group, 3, 1, 0)
    labels, seen = random_labels(3, 0), torch.ones(3, 4, dtype=torch.bool)
    seen[0, 1] = False
    for arguments, more, words in [
        ((points[:, :3], labels, seen), {}, r"every element of C4, \[samples, 4"),
        ((points, labels[:2], seen), {}, "one label per orbit, 3, or per point, 12; got 2"),
        ((points, labels, seen[:2]), {}, "masks of 3 samples, got 2"),
        ((points, labels, torch.zeros(3, 4, dtype=torch.bool)), {}, "at least one seen point"),
        ((points, labels, seen), {"new": new[..., :2]}, r"points of shape \(4,\) as in training"),
        ((points, labels, seen), {"method": "fast"}, "method: expected one of auto, orbits, dense"),
        ((points, labels, seen), {"method": "features"}, "method: expected one of auto, orbits, dense"),
        ((points, labels, seen), {"memory": 50}, "takes .* at least"),
        ((points, labels, seen), {"ridge": -1.0}, "ridge"),
        ((points * torch.nan, labels, seen), {}, "finite"),
    ]:
        with pytest.raises(InputError, match=words):
            coverage_regression(kernel, *arguments, group, **more)
