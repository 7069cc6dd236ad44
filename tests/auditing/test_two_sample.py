"""Two-sample tests: exact p-values, intervals, predictions of each fold from the others."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from symscope.auditing._two_sample import (
    RIDGE,
    balanced_folds,
    cross_predictions,
    gaussian_kernel,
    holm,
    kernel_inverse,
    two_sample_test,
    typical_square,
    wilson_interval,
)
from symscope.errors import InputError
from symscope.numerics import seeded


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_interval_is_scipys(case):
    successes, count = case
    expected = stats.binomtest(successes, count).proportion_ci(0.95, method="wilson")
    assert wilson_interval(successes, count) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_without_samples_nothing_is_known():
    assert wilson_interval(0, 0) == (0.0, 1.0)


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_the_closed_bonferroni_test(p_values):
    """Corrected: the largest Bonferroni p-value over all sets of hypotheses that hold the one in question."""
    places = range(len(p_values))
    sets = [s for size in places for s in itertools.combinations(places, size + 1)]
    expected = [
        max(min(1.0, len(s) * min(p_values[k] for k in s)) for s in sets if place in s) for place in places
    ]
    assert holm(p_values) == pytest.approx(expected)


def test_folds_are_predicted_from_the_others_alone():
    x = torch.randn(33, 2, generator=seeded(0), dtype=torch.float64)
    first = torch.arange(33) < 14
    fold = balanced_folds(first, 3)
    labels = torch.randn(33, 2, generator=seeded(1), dtype=torch.float64)
    squares = torch.cdist(x, x).square()
    kernel = gaussian_kernel(squares, typical_square(squares))
    expected = torch.empty_like(labels)
    for k in fold.unique():
        own, rest = (fold == k).nonzero()[:, 0], (fold != k).nonzero()[:, 0]
        ridge = kernel[rest][:, rest] + RIDGE * torch.eye(len(rest), dtype=torch.float64)
        expected[own] = kernel[own][:, rest] @ torch.linalg.solve(ridge, labels[rest])
    found = cross_predictions(kernel_inverse(x), fold, labels)
    torch.testing.assert_close(found, expected)
    for side in (first, ~first):  # each fold has its share of both sets
        counts = fold[side].bincount(minlength=10)
        assert int(counts.max() - counts.min()) <= 1


def rings(count, stream, spread=1.0):
    """Points whose distribution is not centred and not symmetric."""
    x = torch.randn(count, 2, generator=seeded(7, stream), dtype=torch.float64)
    return torch.stack([x[:, 0].exp(), spread * x[:, 1] + 0.5 * x[:, 0]], 1)


def test_p_values_are_not_too_small_where_both_sets_have_one_distribution():
    tests = [two_sample_test(rings(21, 2 * k), rings(17, 2 * k + 1), k, 59) for k in range(150)]
    for level in (0.05, 0.2, 0.5):
        small = sum(one.p_value <= level for one in tests)
        assert stats.binomtest(small, len(tests), level, alternative="greater").pvalue > 0.001
    assert sum(one.low <= 0.5 <= one.high for one in tests) >= 0.93 * len(tests)


def test_a_difference_of_shape_alone_is_seen():
    """The second set has the same means and is only wider: no straight line tells them apart."""
    found = two_sample_test(rings(150, 0), rings(150, 1, spread=4.0), 0, 199)
    assert found.p_value == 1 / 200
    assert found.low > 0.6
    assert found.low < found.accuracy < found.high


@pytest.mark.parametrize(("samples", "shift"), [(30, 0.0), (60, 1.0), (60, 3.0)])
def test_intervals_hold_the_mean_accuracy(samples, shift):
    """Predictions of one fit depend on each other: intervals for independent ones would hold too little."""
    tests = [two_sample_test(rings(samples, 2 * k), rings(samples, 2 * k + 1) + shift, k) for k in range(100)]
    mean = max(0.5, sum(one.accuracy for one in tests) / len(tests))
    assert sum(one.low <= mean <= one.high for one in tests) >= 0.93 * len(tests)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 100))
def test_exchanging_the_sets_or_units_changes_nothing_but_ties(seed, scale):
    a, b = rings(30, 1), rings(30, 2) + 0.7
    one, other = two_sample_test(a, b, seed), two_sample_test(scale * a, scale * b, seed)
    assert one.accuracy == pytest.approx(other.accuracy, abs=0.02)
    assert (
        two_sample_test(a, a.clone(), seed).accuracy < 0.5
    )  # twins on both sides predict each other wrongly


def test_few_samples_are_refused():
    with pytest.raises(InputError, match="at least 5 samples in each"):
        two_sample_test(rings(4, 0), rings(9, 1), 0)
