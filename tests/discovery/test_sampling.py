"""Sources of parameters and data."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.discovery import class_data, dataset, gaussian_data, parameters_near, token_data
from symscope.discovery._parameter_layout import ParameterLayout
from symscope.discovery.sampling import normal_parameters
from tests.tolerances import MONTE_CARLO_SIGMAS


def _seeded():
    return torch.Generator().manual_seed(3)


def test_deviations_follow_fan_in():
    layout = ParameterLayout(("w", "b"), ((2, 9), (3,)))
    draws = normal_parameters(layout, scale=2.0)(4000, _seeded())
    expected = torch.tensor([2 / 3] * 18 + [2.0] * 3).double()
    error = expected / (2 * 4000) ** 0.5
    assert bool(((draws.std(0) - expected).abs() < MONTE_CARLO_SIGMAS * error).all())
    near = parameters_near(torch.tensor([5.0, -1.0]), 0.1)(4000, _seeded())
    assert torch.allclose(near.mean(0), torch.tensor([5.0, -1.0]).double(), atol=4 * 0.1 / 4000**0.5)


def test_data_has_the_asked_shape_and_range():
    x, y = gaussian_data((2, 3), (4,), scale=3.0)(2000, _seeded())
    assert (tuple(x.shape), tuple(y.shape)) == ((2000, 2, 3), (2000, 4))
    assert abs(x.std().item() - 3) < 0.1
    x, y = class_data((2,), 5)(400, _seeded())
    assert y.unique().tolist() == [0, 1, 2, 3, 4]
    x, y = token_data(3, 4, 2)(400, _seeded())
    assert (x.unique().tolist(), y.unique().tolist()) == ([0, 1, 2, 3], [0, 1])
    rows = torch.arange(10.0)[:, None]
    x, y = dataset(rows, -rows)(100, _seeded())
    assert torch.equal(x, -y)
    assert set(x.flatten().tolist()) <= set(range(10))


@pytest.mark.parametrize("count", [2, 7, 10])
def test_rows_to_test_on_are_others_than_those_to_find_on(count):
    rows = torch.arange(float(count))
    source = dataset(rows, rows)
    result, tested = (set(draw(200, _seeded())[0].tolist()) for draw in (source, source.held_out))
    assert source.has_test_rows
    assert not result & tested
    assert result | tested == set(range(count))
    assert len(tested) == count // 2


def test_a_single_row_is_found_and_tested_on():
    source = dataset(torch.ones(1, 2), torch.zeros(1))
    assert not source.has_test_rows
    assert source.held_out(3, _seeded())[0].shape == (3, 2)


def test_bad_sources_are_refused():
    with pytest.raises(InputError, match="at least 2 classes"):
        class_data((2,), 1)
    with pytest.raises(InputError, match="positive length, vocabulary and classes"):
        token_data(0, 3, 2)
    with pytest.raises(InputError, match="no rows"):
        dataset(torch.zeros(0, 2), torch.zeros(0))
    with pytest.raises(InputError, match="as many rows in both, got 3 and 2"):
        dataset(torch.zeros(3, 2), torch.zeros(2))
    with pytest.raises(InputError, match="scale: expected a positive deviation"):
        parameters_near(torch.zeros(2), 0.0)
