from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.numerics import check_count, check_finite, check_memory, check_point_sets, check_ridge
from tests.shapes import annotations_unchecked


def test_counts():
    assert check_count("points", 4, least=2) == 4
    with pytest.raises(InputError, match=r"points: expected an integer of at least 2, got 1\."):
        check_count("points", 1, least=2)
    with pytest.raises(InputError, match="points: expected an integer from 1 to 9, got an integer of 16610"):
        check_count("points", 10**5000, most=9)
    for value in (1.5, "many\nlines", None, torch.ones(3), math.nan):
        with pytest.raises(InputError, match=r"points: expected an integer of at least 1, got .*\.$"):
            check_count("points", value)


@pytest.mark.parametrize("ridge", [0, 0.0, 1e-300, 3, 1e300])
def test_ridges_from_zero_on_pass(ridge):
    check_ridge(ridge)


@pytest.mark.parametrize("ridge", [-1.0, -1e-300, math.nan, math.inf, None, "1", torch.ones(2)])
def test_other_ridges_are_refused_by_name(ridge):
    with pytest.raises(InputError, match="noise: expected a finite number of at least 0, got"):
        check_ridge(ridge, "noise")


@given(st.lists(st.floats(width=32), min_size=1, max_size=12))
def test_finite_as_python_sees_it(numbers):
    bad = [i for i, number in enumerate(numbers) if not math.isfinite(number)]
    x = torch.tensor(numbers, dtype=torch.float32, requires_grad=True)
    if not bad:
        check_finite("x", x)  # also where the sum overflows
        return
    with pytest.raises(InputError, match=rf"x: .* {len(bad)} of {len(numbers)} .* index \({bad[0]},\)"):
        check_finite("x", x)


@pytest.mark.parametrize("x", [torch.arange(3), torch.tensor([True]), torch.zeros(0), torch.tensor(2 + 1j)])
def test_numbers_of_every_kind_can_be_finite(x):
    check_finite("x", x)


@pytest.mark.parametrize(
    ("x1", "x2", "message"),
    [
        (torch.ones(2, 3, dtype=torch.int64), None, "x1: expected floating-point numbers, got torch.int64"),
        (torch.ones(2), None, r"x1: expected shape \[n, \*s\]"),
        (torch.ones(0, 2), None, "x1: expected at least one point"),
        (torch.tensor([[1.0, math.nan]]), None, r"x1: expected finite .* \(0, 1\)"),
        (torch.ones(2, 3), torch.tensor([[1.0, math.inf, 1.0]]), "x2: expected finite"),
        (torch.ones(2, 3), torch.ones(2, 3).double(), "expected one dtype"),
        (torch.ones(2, 3), torch.ones(2, 4), r"expected points of one shape, got \(3,\) and \(4,\)"),
    ],
)
def test_bad_points(x1, x2, message):
    with pytest.raises(InputError, match=message):
        check_point_sets(x1, x2)


def test_wrong_types_without_run_time_type_checks():
    with annotations_unchecked():
        with pytest.raises(InputError, match=r"points: expected an integer of at least 1, got 2\.5"):
            check_count("points", 2.5)
        with pytest.raises(InputError, match=r"x1: expected a torch.Tensor \[n, \*s\], got list; use torch"):
            check_point_sets([1.0], None)


def test_what_does_not_fit_is_refused_with_its_size_and_what_to_do():
    check_memory("a table", 2**31, "take less")
    with pytest.raises(InputError, match=r"a table: expected at most 2.15 GB, got 2.15 GB; take less"):
        check_memory("a table", 2**31 + 1, "take less")
    with pytest.raises(InputError, match=r"got more than 10\^24 bytes"):
        check_memory("a table", 10**5000, "take less")
