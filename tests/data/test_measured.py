"""Inputs with numbers to predict: shapes, positions, and what is refused."""

from __future__ import annotations

import pytest
import torch

from symscope.data import MeasuredData
from symscope.errors import InputError

X = torch.arange(12.0).reshape(4, 3)
Y = torch.tensor([0.5, -1.0, 2.5, 7.0])


def test_scalars_become_a_column_and_rows_stay_with_their_inputs():
    data = MeasuredData(X, Y, "four", "typed")
    assert data.targets.tolist() == [[0.5], [-1.0], [2.5], [7.0]]
    some = data.take(torch.tensor([3, 1]))
    assert (some.x[:, 0].tolist(), some.targets[:, 0].tolist()) == ([9.0, 3.0], [7.0, -1.0])
    double = data.to(dtype=torch.float64)
    assert (double.x.dtype, double.targets.dtype) == (torch.float64, torch.float64)
    assert repr(MeasuredData(X, X[:, :2], "four", "typed")).startswith(
        "MeasuredData(four: 4 items of 3, 2 targets"
    )


@pytest.mark.parametrize(
    ("x", "targets", "message"),
    [
        (X[:, 0], Y, r"expected inputs \[n, \*shape\]"),
        (X, Y[:3], "got 4 inputs, 3 targets"),
        (X, X[0, 0], r"expected targets \[n\] or \[n, \*t\]"),
        (X, X[:, :0], r"expected targets \[n\] or \[n, \*t\]"),
        (X, torch.arange(4), "expected floating-point targets"),
        (X.long(), Y, "expected floating-point inputs"),
        (X, torch.tensor([0.5, torch.nan, torch.inf, 1.0]), r"targets: expected finite numbers, got 2 of 4"),
        (torch.where(X == 5, torch.nan, X), Y, "four: expected finite numbers"),
    ],
)
def test_what_is_not_one_row_of_numbers_for_each_input_is_refused(x, targets, message):
    with pytest.raises(InputError, match=message):
        MeasuredData(x, targets, "four", "typed")


def test_positions_that_are_not_there():
    data = MeasuredData(X, Y, "four", "typed")
    with pytest.raises(InputError, match=r"expected positions 0 .. 3, got 0 .. 4"):
        data.take(torch.tensor([0, 4]))
    with pytest.raises(InputError, match="at least one position"):
        data.take(torch.tensor([], dtype=torch.int64))


def test_numbers_with_positions_are_flattened_and_keep_their_shape():
    x, maps = torch.rand(4, 3), torch.arange(24.0).reshape(4, 2, 3)
    data = MeasuredData(x, maps, "maps", "made")
    assert data.target_shape == (2, 3)
    assert torch.equal(data.targets, maps.flatten(1))
    some = data.take(torch.tensor([2])).to(dtype=torch.float64)
    assert some.target_shape == (2, 3)
    assert torch.equal(some.targets.unflatten(1, (2, 3))[0], maps[2].double())
    with pytest.raises(InputError, match=r"expected targets of shape \(2, 2\), got 6 numbers"):
        MeasuredData(x, maps, "maps", "made", target_shape=(2, 2))
