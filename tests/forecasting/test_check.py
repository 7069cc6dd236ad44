"""Whole trainings beside the forecast: against a plain loop, and what they refuse."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from symscope.errors import InputError
from symscope.forecasting import TrainingOptions, forecast, forecast_page
from symscope.forecasting._check import training_check
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._question import as_question
from symscope.forecasting._sample_split import forecast_samples
from symscope.networks import user_model
from symscope.training import Optimiser, StepPlan
from tests.forecasting.problems import FEW, blobs, kernel_only, number_net, small_net, spots


def trainer_of(question, build, outputs):
    model = user_model(build, (6, 6), outputs)
    return DesignTrainer(model, forecast_samples(question, seed=4), torch.device("cpu"))


@pytest.mark.parametrize("numbers", [False, True])
def test_a_training_is_full_batch_descent_with_its_schedule_run_to_the_end(numbers):
    question = as_question(spots() if numbers else blobs(items=6), "C4", missing={0: [1]})
    build = number_net if numbers else small_net
    trainer = trainer_of(question, build, 1 if numbers else 3)
    known = trainer.samples.known
    seen = torch.ones(len(known), 4, dtype=torch.bool)
    seen[known.positions == 0, 1] = False
    plan = StepPlan(30, int(seen.sum()), Optimiser("sgd", 0.1))
    check, module = training_check(trainer, question, TrainingOptions(), plan, seed=7)
    net = trainer.model.builder(1007).float().train()
    x, y = known.points[seen].flatten(1), known.wanted[seen]
    loss_of = nn.functional.mse_loss if numbers else nn.functional.cross_entropy
    for step in range(30):
        net.zero_grad()
        loss_of(net(x[:, None].reshape(-1, 1, 6, 6)), y).backward()
        rate = 0.1 * ((step + 1) / 2 if step < 2 else (30 - step) / 28)
        with torch.no_grad():
            for weight in net.parameters():
                weight -= rate * weight.grad
    with torch.no_grad():
        mine = net(known.points[known.positions == 0, 1][:, None])
        theirs = module(known.points[known.positions == 0, 1][:, None].double())
    torch.testing.assert_close(mine.double(), theirs, atol=1e-4, rtol=1e-4)
    new = trainer.samples.new
    with torch.no_grad():
        outputs = net(new.points[new.positions == 0, 1][:, None])
    scores = trainer.samples.scores(outputs, new.wanted[new.positions == 0, 1])
    assert float(check.class_accuracy[0]) == pytest.approx(float(scores.mean()), abs=1e-3)
    assert check.class_accuracy.isnan().tolist() == [False] + [True] * (len(check.class_accuracy) - 1)
    floor = (check.class_accuracy - check.second_accuracy).abs().nanmean()
    assert check.noise_floor == float(floor)


def test_a_sweep_trains_one_network_for_each_class_it_may():
    seen = []
    result = forecast(
        small_net,
        blobs(items=6),
        "C4",
        train=True,
        training=TrainingOptions(steps=20, max_classes=2),
        options=FEW,
        progress=lambda words, done, total: seen.append((done, total)) if total else None,
    )
    assert result.check.class_accuracy.isnan().tolist() == [False, True, False]
    assert result.check.first.trainings == 2
    assert seen[-1] == (80, 80)
    assert result.check.equivariance.asymmetry != result.equivariance.asymmetry


def test_batch_norm_dropout_and_max_pool_train_as_they_are():
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.1), nn.Flatten(),
        nn.Linear(32, 3),
    )  # fmt: skip
    result = forecast(
        net,
        blobs(),
        "C4",
        train=True,
        training=TrainingOptions(steps=150, max_classes=1, optimiser=Optimiser("adam", 1e-2)),
        options=FEW,
    )
    assert result.check.first.fitted == 1.0


def test_what_cannot_be_trained_is_refused():
    with pytest.raises(InputError, match=r"the loss is (nan|inf)"):
        forecast(
            small_net,
            blobs(),
            "C4",
            train=True,
            training=TrainingOptions(steps=30, optimiser=Optimiser("sgd", 1e30)),
            options=FEW,
        )
    with pytest.raises(InputError, match="steps"):
        TrainingOptions(steps=0)
    with pytest.raises(InputError, match="batch"):
        TrainingOptions(batch=-1)


def test_optimisers_that_have_not_learned_are_named_everywhere():
    slow = TrainingOptions(
        steps=40, optimiser=Optimiser("adam", 3e-2), second_optimiser=Optimiser("sgd", 1e-6), max_classes=1
    )
    options = kernel_only(per_class=3, resamples=1)
    result = forecast(small_net, blobs(items=6), "C4", train=True, training=slow, options=options)
    assert result.check.underfit_optimisers == ("sgd at 1e-06",)
    assert "has not learned its training data" in result.verdict
    assert "With sgd at 1e-06 the network has not learned its training data" in forecast_page(result)


class Times(nn.Module):
    """Numbers times a factor."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return self.factor * x


def test_a_second_optimiser_that_diverges_gives_way_unless_it_was_chosen():
    wild = TrainingOptions(steps=30, optimiser=Optimiser("adam", 1e-3), max_classes=1)

    def loud() -> nn.Module:
        """Its gradients are huge, which Adam does not mind."""
        return nn.Sequential(nn.Flatten(), nn.Linear(36, 1), Times(1e3))

    result = forecast(loud, spots(), "C4", train=True, training=wild, options=FEW)
    assert result.check.plan == result.check.second_plan
    assert result.check.first.known.count.equal(result.check.second.known.count)
    chosen = replace(wild, second_optimiser=Optimiser("sgd", 0.02))
    with pytest.raises(InputError, match="the loss is"):
        forecast(loud, spots(), "C4", train=True, training=chosen, options=FEW)


def test_a_check_asks_all_new_samples_however_few_the_budget_leaves_the_pilots(monkeypatch):
    monkeypatch.setattr(
        "symscope.forecasting._budgeted_pilots.quick_to_ask",
        lambda trainer, design, points: replace(trainer, asked=6),
    )
    answer = forecast(
        small_net, blobs(items=30), "C4", seen={0: [0]}, method="pilot", budget="1h", steps=12, train=True
    )
    new = int((answer.check.first.new.count[0, 1:]).min())
    assert new == 6  # a fifth of thirty is kept apart
    assert answer.pilot.answers[0].new.count[0, 1:].tolist() == [2, 2, 2]
