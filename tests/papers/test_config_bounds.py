"""Bounds of config fields: what is inside passes, what is outside is refused with its name and value."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscope import InputError
from symscope_papers.config_bounds import (
    check_at_least,
    check_between,
    check_distinct,
    check_divisors,
    check_increasing,
    check_one_of,
    check_positive,
)

NUMBERS = st.lists(st.integers(-3, 3), min_size=1, max_size=4).map(tuple)


def refused(check, *arguments, **options):
    try:
        check(*arguments, **options)
    except InputError:
        return True
    return False


@given(NUMBERS)
def test_the_bounds_of_tuples_are_those_of_every_entry(values):
    config = SimpleNamespace(sizes=values)
    assert refused(check_at_least, config, 1, "sizes") == (min(values) < 1)
    assert refused(check_between, config, 0, 2, "sizes") == (min(values) < 0 or max(values) > 2)
    assert refused(check_positive, config, "sizes", below=3) == (min(values) <= 0 or max(values) >= 3)
    assert refused(check_distinct, config, "sizes", least=2) == (
        len(set(values)) < len(values) or len(values) < 2
    )
    divide = all(value > 0 and 6 % value == 0 for value in values)
    assert refused(check_divisors, config, 6, "sizes", least=1) == (not divide)
    assert refused(check_increasing, config, "sizes") == (list(values) != sorted(set(values)))


@pytest.mark.parametrize("value", [math.nan, math.inf, (1.0, math.nan), ()])
def test_what_is_not_a_finite_number_is_refused(value):
    config = SimpleNamespace(sizes=value)
    assert refused(check_at_least, config, 0, "sizes")
    assert refused(check_positive, config, "sizes")


def test_none_is_no_number_and_all_fields_are_looked_at():
    config = SimpleNamespace(images=None, epochs=3, batch=0)
    check_at_least(config, 1, "images", "epochs")
    with pytest.raises(InputError, match="batch: expected 1 or more, got 0"):
        check_at_least(config, 1, "epochs", "batch")


def test_unknown_words_are_named_with_the_nearest():
    check_one_of(SimpleNamespace(network="cnn", networks=("mlp", "cnn")), {"mlp": 1, "cnn": 2}, "network")
    with pytest.raises(InputError, match=r"networks: unknown 'mpl'; did you mean 'mlp'"):
        check_one_of(SimpleNamespace(networks=("cnn", "mpl")), ("mlp", "cnn"), "networks")
