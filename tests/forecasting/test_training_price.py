"""Prices of whole trainings, against counts by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from symscope.forecasting import TrainingOptions
from symscope.forecasting._price_list import Advice
from symscope.forecasting._training_price import TrainingPrice, priced

NET = nn.Linear(9, 2)


def price(points, training=None):
    plan = replace(training or TrainingOptions(), batch=32).plan
    return TrainingPrice(lambda count: plan(NET, count), points, 36, 0.01)


def test_twice_the_points_take_as_many_epochs():
    """25 epochs: ceil(25 * 1600 / 32) steps of 32 points, twice as many for 3,200; 3,000 steps at most."""
    assert price(1600).seconds(1.0) == pytest.approx(1250 * 0.01)
    assert price(1600).seconds(2.0) == pytest.approx(2500 * 0.01)
    assert price(1600).seconds(2.0, slower=3.0) == pytest.approx(7500 * 0.01)
    assert price(3000).seconds(2.0) == pytest.approx(3000 * 0.01)
    assert price(1600).data_bytes(1.5) == 2400 * 36


@given(points=st.integers(64, 3000), times=st.floats(1, 1.3), steps=st.integers(1, 5000))
def test_steps_that_are_given_take_as_long_whatever_the_data(points, times, steps):
    one = price(points, TrainingOptions(steps=steps))
    assert one.seconds(times) == pytest.approx(one.seconds(1.0))
    assert one.data_bytes(times) >= one.data_bytes(1.0) == points * 36


def test_rows_get_their_price():
    row = Advice("samples", "", 0.9, 0.8, 1.0, 0.1, 2.0, 1, "")
    assert math.isnan(row.training_seconds)
    assert row.training_time_text == "–"
    [one] = priced([row], price(1600), slower=2.0)
    assert (one.training_seconds, one.data_bytes) == (pytest.approx(50.0), 3200 * 36)
    [unbuilt] = priced([replace(row, kind="build in")], price(1600))
    assert math.isnan(unbuilt.training_seconds)
    assert (one.training_time_text, one.training_data_text) == ("50 s", "x 2.0, 120 kB")
