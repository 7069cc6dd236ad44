"""Learned results: fields and flows of a seed, against the action itself and closed forms."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from symscope.discovery import gaussian_data, parameter_problem
from symscope.discovery.fields import FunctionField, linear_field
from symscope.discovery.learned import ActionTraining, LearningObjective, learn_actions, runge_kutta_action
from symscope.errors import InputError
from tests.tolerances import ROUNDING


@pytest.fixture(scope="module")
def found():
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Tanh(), nn.Linear(2, 1, bias=False))
    made = parameter_problem(net, "squared", gaussian_data((2,), (1,)))
    settings = ActionTraining(steps=3, points=20, held_out=8, minibatch=8, evaluate_every=2)
    return made, learn_actions(
        made, 2, dependent=True, seeds=[3, 5], objective=LearningObjective(), training=settings
    )


def test_fields_one_by_one_are_those_of_the_batch(found):
    made, learned = found
    sample = made.random_points(4, 1, seed=9)
    for index in range(2):
        together = learned.values(index, sample)
        for number, field in enumerate(learned.fields(index)):
            assert field.data_dependent
            for b in range(4):
                one = field(sample.theta[b], sample.x[b], sample.y[b])
                torch.testing.assert_close(one, together[number, b], atol=ROUNDING, rtol=0)
    assert not torch.allclose(learned.values(0, sample), learned.values(1, sample))


def test_the_totals_are_the_lowest_of_the_curve(found):
    _, learned = found
    torch.testing.assert_close(learned.totals(), learned.curves["total"].min(0).values)
    assert learned.recorded_steps == (0, 2, 3)
    assert all(int(step) in learned.recorded_steps for step in learned.best)


def test_runge_kutta_converges_at_fourth_order():
    """theta' = theta^2 from 1 is 1 / (1 - t)."""
    square = FunctionField(lambda theta, x, y: theta**2, "square", False)
    one = torch.ones(1, dtype=torch.float64)
    exact, time = 1 / (1 - 0.5), torch.tensor(0.5, dtype=torch.float64)
    errors = [
        abs(float(runge_kutta_action(square, steps).function(time, one, one[None], one[None])) - exact)
        for steps in (8, 16)
    ]
    assert 3.7 < math.log2(errors[0] / errors[1]) < 4.3


def test_runge_kutta_of_a_rotation_turns():
    turn = linear_field(torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64), name="turn")
    action = runge_kutta_action(turn, 32)
    start, nothing = torch.tensor([1.0, 0.5], dtype=torch.float64), torch.zeros(1, 1, dtype=torch.float64)
    end = action.function(torch.tensor(math.pi / 2), start, nothing, nothing)
    torch.testing.assert_close(end, torch.tensor([-0.5, 1.0], dtype=torch.float64), atol=1e-6, rtol=0)
    assert action.name == "turn"
    assert not action.data_dependent
    with pytest.raises(InputError, match="steps: expected at least 1, got 0"):
        runge_kutta_action(turn, 0)
