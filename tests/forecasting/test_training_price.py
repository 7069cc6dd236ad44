"""Prices of whole trainings, against counts by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from symscope.forecasting import TrainingOptions
from symscope.forecasting._compressed_training import StepCost
from symscope.forecasting._price_list import Advice
from symscope.forecasting._training_price import TrainingPrice, priced

NET = nn.Linear(9, 2)


def price(points, training=None, fixed=0.0):
    plan = (training or TrainingOptions()).plan
    return TrainingPrice(lambda count: plan(NET, count), points, 36, 0.01, StepCost(fixed))


def test_twice_the_points_take_as_many_epochs():
    """25 epochs: ceil(25 * 1600 / 32) steps of 32 points, twice as many for 3,200."""
    assert price(1600).seconds(1.0) == pytest.approx(1250 * 0.01)
    assert price(1600).seconds(2.0) == pytest.approx(2500 * 0.01)
    assert price(1600).seconds(2.0, slower=3.0) == pytest.approx(7500 * 0.01)
    assert price(1600).data_bytes(1.5) == 2400 * 36


def test_larger_batches_cost_what_was_measured():
    """From 4,096 points on a batch has 128: 800 steps of four times the points."""
    assert price(2048).seconds(2.0) == pytest.approx(800 * 4 * 0.01)
    assert price(2048, fixed=1.0).seconds(2.0) == pytest.approx(800 * 0.01)


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
    assert (one.training_time_text, one.training_data_text) == ("50 s", "x 2.0, 120 kB")
