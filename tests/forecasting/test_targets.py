"""Numbers in groups of equal size: an order that can be checked by hand, names, and what is refused."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.data import MeasuredData
from symscope.errors import InputError
from symscope.forecasting._targets import Targets, group_names, grouped
from tests.tolerances import ROUNDING


def measured(values: list[float] | torch.Tensor) -> MeasuredData:
    targets = torch.as_tensor(values, dtype=torch.float64)
    return MeasuredData(torch.arange(2.0 * len(targets)).reshape(-1, 2).double(), targets, "made", "typed")


@given(st.lists(st.integers(-(10**6), 10**6), min_size=4, max_size=40, unique=True))
def test_groups_are_of_equal_size_and_in_order(quarters):
    values = [number / 4 for number in quarters]
    data, targets = grouped(measured(values))
    counts = data.labels.bincount()
    assert len(counts) == min(5, len(values) // 2) == len(group_names(len(counts)))
    assert int(counts.max() - counts.min()) <= 1
    numbers = targets.values[:, 0, 0]
    for c in range(len(counts) - 1):
        assert float(numbers[data.labels == c].max()) <= float(numbers[data.labels == c + 1].min())
    assert torch.allclose(targets.standardised.mean((0, 1)), torch.zeros(1).double(), atol=1e-6)


def test_several_numbers_are_ordered_along_their_largest_common_part():
    t = torch.tensor([3.0, -1.0, 2.0, 0.5, -2.0, 8.0], dtype=torch.float64)
    data, targets = grouped(measured(torch.stack([1000 * t, -t, 5 + 0.01 * t], 1)))
    # one direction holds everything: standardised, its weights are (1, -1, 1) up to a common sign
    assert data.labels.tolist() in ([2, 0, 1, 1, 0, 2], [0, 2, 1, 1, 2, 0])
    assert targets.variance == pytest.approx(3.0, abs=ROUNDING)
    some = targets.take(torch.tensor([4, 0]))
    assert torch.allclose(some.in_units(some.standardised), some.values, atol=1e-9)
    assert torch.equal(some.mean, targets.mean)


def test_names():
    assert group_names(5) == ("lowest fifth", "second fifth", "middle fifth", "fourth fifth", "highest fifth")
    assert group_names(2) == ("lowest half", "highest half")
    assert group_names(4)[2] == "third quarter"


def test_what_cannot_be_predicted_is_refused():
    with pytest.raises(InputError, match="expected 4 samples or more"):
        grouped(measured([1.0, 2.0, 3.0]))
    with pytest.raises(InputError, match=r"the target is 2\.5 for every sample"):
        grouped(measured([2.5] * 6))
    both = torch.stack([torch.arange(6.0), torch.full((6,), 7.0)], 1)
    with pytest.raises(InputError, match=r"target 1 \(of 0 .. 1\) is 7 for every sample"):
        grouped(measured(both))
    assert Targets(both[:, None], torch.zeros(2), torch.ones(2)).variance == pytest.approx(35 / 12)


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e160, 1e300])
def test_targets_must_have_squares(scale):
    with pytest.raises(InputError, match=r"largest number is 1e-77 to 1e\+77.*; use other units"):
        grouped(measured([scale * number for number in (1.0, 3.0, 2.0, 5.0)]))
