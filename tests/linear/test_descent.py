from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.linear import regression_flow
from symscope.linear.descent import descent_rates, flow_time, learning_rate_for, mean_loss_rate
from tests.linear.problems import draw
from tests.tolerances import ROUNDING

RATES = torch.tensor([0.0, 0.5, 3.0, 8.0], dtype=torch.float64)


@given(product=st.floats(0.001, 1.95), steps=st.integers(0, 200))
def test_errors_are_those_between_descent_and_flow(product, steps):
    rate = product / 8
    made = flow_time(RATES, rate, steps)
    solution = regression_flow(torch.diag(RATES), torch.zeros(4, dtype=torch.float64))
    start = torch.ones(4, dtype=torch.float64)
    there = solution.descent(start, rate, torch.tensor([steps]))[0]
    flown = solution.weights(start, torch.tensor([made.time], dtype=torch.float64))[0]
    assert abs(made.weight_error - float((there - flown).abs().max())) < 1e-10
    assert made.time == rate * steps
    assert made.stable_rate == 0.25 == 2 * made.monotone_rate
    assert ("swings" in made.verdict) == (rate * 8 > 1)


def test_the_error_of_the_rates_is_measured_on_the_iterates():
    rate = 0.02
    solution = regression_flow(torch.diag(RATES), torch.zeros(4, dtype=torch.float64))
    steps = torch.tensor([10, 50])
    there = solution.descent(torch.ones(4, dtype=torch.float64), rate, steps)
    fitted = -(there[1] / there[0]).log() / (40 * rate)
    assert (fitted - descent_rates(RATES, rate)).abs().max() < ROUNDING * 10
    worst = (fitted[1:] / RATES[1:] - 1).max()
    assert abs(float(worst) - flow_time(RATES, rate, 1).rate_error) < 1e-9


def test_a_learning_rate_for_a_wanted_accuracy():
    for wanted in (1e-6, 0.01, 0.3):
        rate = learning_rate_for(RATES, wanted)
        assert abs(flow_time(RATES, rate, 1).rate_error / wanted - 1) < 1e-6
        assert flow_time(RATES, rate * 1.01, 1).rate_error > wanted


def test_beyond_the_bound_there_is_no_flow_time():
    made = flow_time(RATES, 0.25, 10)
    assert math.isnan(made.time)
    assert "diverges and has no flow time; choose eta below 0.25" in made.verdict
    assert flow_time(0 * RATES, 5.0, 3).verdict == "K is zero: nothing moves."
    assert "is faster than the flow, decay rates within" in flow_time(RATES, 0.1, 3).verdict


def test_the_mean_squared_error_in_torch_takes_the_converted_steps():
    x, y, w = draw(0, 30, 4), draw(1, 30), draw(2, 4)
    trained = w.clone().requires_grad_()
    optimiser = torch.optim.SGD([trained], lr=0.05)
    for _ in range(40):
        optimiser.zero_grad()
        torch.nn.functional.mse_loss(x @ trained, y).backward()
        optimiser.step()
    solution = regression_flow(x.T @ x, x.T @ y)
    ours = solution.descent(w, mean_loss_rate(0.05, 30, 1), torch.tensor([40]))[0]
    assert (ours - trained.detach()).abs().max() < ROUNDING


def test_the_mean_of_several_outputs_goes_over_all_of_them():
    x, y, w = draw(3, 12, 4), draw(4, 12, 3), draw(5, 4, 3)
    trained = w.clone().requires_grad_()
    torch.nn.functional.mse_loss(x @ trained, y).backward()
    step = regression_flow(x.T @ x, x.T @ y).descent(w, mean_loss_rate(0.05, 12, 3), torch.tensor([1]))[0]
    assert (step - (w - 0.05 * trained.grad)).abs().max() < ROUNDING


def test_bad_input():
    with pytest.raises(InputError, match="expected a positive learning rate, got -1"):
        flow_time(RATES, -1.0, 1)
    with pytest.raises(InputError, match="steps: expected 0 or more"):
        flow_time(RATES, 0.1, -1)
    with pytest.raises(InputError, match=r"below 2 / lambda_max = 0\.25"):
        descent_rates(RATES, 0.3)
    with pytest.raises(InputError, match="rate_error: expected a positive relative error"):
        learning_rate_for(RATES, 0.0)
    with pytest.raises(InputError, match="expected some positive rate"):
        learning_rate_for(0 * RATES, 0.1)
    with pytest.raises(InputError, match="expected at least 1 of each, got 0 and 2"):
        mean_loss_rate(0.1, 0, 2)
    with pytest.raises(InputError, match="rates: expected finite numbers"):
        learning_rate_for(torch.tensor([1.0, math.nan]), 0.01)
    with pytest.raises(InputError, match="rate_error: expected a positive"):
        learning_rate_for(torch.tensor([1.0]), math.nan)
