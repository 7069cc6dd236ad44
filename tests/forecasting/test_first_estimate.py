"""What one forward pass tells of the cost, and refusals before anything else is done."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import torch
from torch import nn

from symscope import forecast
from symscope.data import LabelledData
from symscope.errors import BudgetError
from symscope.forecasting import ForecastOptions, TrainingOptions, _first_estimate
from symscope.forecasting._budgeted_pilots import (
    ASKED_SHARE,
    PLENTY_ASKED,
    PLENTY_SHARE,
    quick_to_ask,
)
from symscope.forecasting._design_trainer import ASKED, DesignTrainer
from symscope.forecasting._designs import interleaved_designs
from symscope.forecasting._first_estimate import fewest_asked_points, first_estimate, forward_seconds
from symscope.forecasting._question import as_question
from symscope.forecasting._sample_split import forecast_samples
from symscope.forecasting._trainings import Trainings
from symscope.networks import user_model


class Clock:
    """A clock that goes on only where a network says so: no test depends on how busy a machine is."""

    now = 0.0


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    monkeypatch.setattr(_first_estimate.time, "perf_counter", lambda: Clock.now)


class Waits(nn.Module):
    """A set's mean through one layer, which takes so long for each call and each point."""

    def __init__(self, call: float, point: float) -> None:
        super().__init__()
        self.call, self.point, self.layer = call, point, nn.Linear(3, 2)

    def forward(self, x):
        if isinstance(x, torch.Tensor):  # none is where the network is traced
            Clock.now += self.call + self.point * x.shape[0] * x.shape[1]
        return self.layer(x.mean(1))


def clouds(points=10):
    x = torch.randn(12, points, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return x, torch.arange(12) % 2


def test_a_pass_counts_by_what_a_sample_adds_to_it():
    question = as_question(_samples(), "T points")
    device = torch.device("cpu")
    slow, fixed = (
        forward_seconds(question, user_model(lambda w=w: Waits(*w), (10, 3), 2), device)
        for w in ((0.0, 0.002), (0.05, 0.0))
    )
    assert slow == pytest.approx(0.02)  # ten points of 2 ms
    assert fixed == pytest.approx(0.0)


def test_a_forecast_that_cannot_keep_its_budget_is_refused_before_anything_is_done():
    words = []
    with pytest.raises(BudgetError, match="a forward pass of one sample takes") as refusal:
        forecast(
            lambda: Waits(0.0, 0.002),
            clouds(),
            "I points",
            seen="upright",
            budget="3s",
            progress=lambda what, done, total: words.append(what),
        )
    assert words == []
    text = str(refusal.value)
    least = float(re.search(r"about ([\d,]+) s at least", text)[1].replace(",", ""))
    points = int(re.search(r"at most ([\d,]+) of the 10 points", text)[1])
    assert least > 30 * 3 * 0.02 * 4  # steps, with gradients, seconds, smallest batch
    assert points == max(1, int(10 * 3 / least))


def test_slow_calls_alone_are_not_refused_and_layers_are_measured_on_fewer_samples():
    question = as_question(_samples(), "I points")
    options, training = ForecastOptions(budget="20s"), TrainingOptions()
    fast = user_model("pointnet", (10, 3), 2)
    assert first_estimate(question, fast, options, training, Trainings()).measured_samples == 8
    slow = user_model(lambda: Waits(0.0, 0.0005), (10, 3), 2)
    assert first_estimate(question, slow, options, training, Trainings()).measured_samples == 1


def test_as_many_points_are_asked_as_is_assumed_or_fewer():
    question = as_question(_samples(), "T points", seen="upright")
    samples = forecast_samples(question, 0)
    trainer = DesignTrainer(user_model("pointnet", (10, 3), 2), samples, torch.device("cpu"))
    [design] = interleaved_designs(samples, question.group)
    counted = replace(trainer, asked=ASKED[-1]).asked_points(design)
    assert counted <= fewest_asked_points(question) <= 2 * counted


def test_what_takes_long_to_ask_is_asked_about_fewer_points():
    question = as_question(_samples(), "T points", seen="upright")
    samples = forecast_samples(question, 0)
    trainer = DesignTrainer(user_model("pointnet", (10, 3), 2), samples, torch.device("cpu"))
    [design] = interleaved_designs(samples, question.group)
    few = replace(trainer, asked=25).asked_points(design)
    assert quick_to_ask(trainer, design, 1e9).asked == ASKED[0]
    assert quick_to_ask(trainer, design, few / ASKED_SHARE).asked == 25
    assert quick_to_ask(trainer, design, (few - 1) / ASKED_SHARE).asked == 12
    assert quick_to_ask(trainer, design, 0.0).asked == ASKED[-1]


def test_more_points_than_tell_enough_are_asked_only_where_that_takes_little():
    """Half of the clouds have been seen upright only: eleven elements of 40 new samples are missing."""
    samples = torch.randn(400, 4, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    data = LabelledData(samples, torch.arange(2).repeat(200), "clouds", "tests")
    question = as_question(data, "T points", seen="0: upright")
    trainer = DesignTrainer(
        user_model("pointnet", (4, 3), 2), forecast_samples(question, 0), torch.device("cpu")
    )
    [design] = interleaved_designs(trainer.samples, question.group)
    plenty, more = (replace(trainer, asked=count).asked_points(design) for count in (PLENTY_ASKED, 400))
    assert more > plenty
    assert quick_to_ask(trainer, design, plenty / ASKED_SHARE).asked == PLENTY_ASKED
    assert quick_to_ask(trainer, design, more / ASKED_SHARE).asked == PLENTY_ASKED  # not worth a fifth
    assert quick_to_ask(trainer, design, more / PLENTY_SHARE).asked == 400


def _samples():
    from symscope.data import as_samples

    return as_samples(clouds())[0]
