"""Families of tests: false findings over many invariant data sets, and what decides a verdict."""

import pytest
import torch
from scipy import stats

from symscope.auditing._input_invariance import element_tests
from symscope.numerics import seeded

NAMES = ["e", "g", "h", "k"]


def family(seed, shift=0.0, count=30, interpolation=0.0):
    """Three elements that leave a distribution as it is, or shift it, in two classes."""
    x = torch.randn(2, count, 3, generator=seeded(seed, 61), dtype=torch.float64).exp()
    moved = {g: torch.roll(x[0], g, 1) + shift for g in (1, 2, 3)}  # entries have one distribution
    first = torch.arange(count) % 2 == 0
    places = {"a": (first.nonzero()[:, 0],) * 2, "b": ((~first).nonzero()[:, 0],) * 2}
    return element_tests(moved, x[0], x[1], places, NAMES, interpolation, seed)


def test_invariant_data_is_called_different_in_at_most_one_of_twenty_families():
    found = [family(seed, count=20) for seed in range(40)]
    for part in (0, 1):
        wrong = sum(any(one.verdict == "different" for one in tests[part]) for tests in found)
        assert stats.binomtest(wrong, len(found), 0.05, alternative="greater").pvalue > 0.01


def test_shifted_data_is_different_in_every_element_and_class():
    whole, classes = family(0, shift=3.0)
    assert [(one.element, one.element_name, one.verdict) for one in whole] == [
        (g, NAMES[g], "different") for g in (1, 2, 3)
    ]
    assert {(one.element, one.class_name) for one in classes} == {(g, c) for g in (1, 2, 3) for c in "ab"}
    assert {one.verdict for one in classes} == {"different"}
    assert all(one.p_value <= 0.05 for one in (*whole, *classes))
    assert all(one.displacement > 0.5 for one in whole)


def test_what_interpolation_shows_alone_is_no_difference():
    whole, _ = family(0, shift=3.0, interpolation=0.999)
    assert {one.verdict for one in whole} == {"unknown"}


@pytest.mark.parametrize(("count", "verdict"), [(30, "unknown"), (250, "same")])
def test_sameness_needs_samples(count, verdict):
    whole, _ = family(3, count=count)
    assert {one.verdict for one in whole} == {verdict}
