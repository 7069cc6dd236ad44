"""Compressed trainings: cost and way by their definition, limits, what follows one that diverges."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from symscope.errors import DivergedError, InputError
from symscope.forecasting import TrainingOptions, forecast
from symscope.forecasting._budgeted_pilots import step_times
from symscope.forecasting._compressed_training import (
    FASTER,
    StepCost,
    compressed_plan,
    progress_share,
    smallest_batch,
)
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._designs import interleaved_designs
from symscope.forecasting._learned_forecast import learned_prediction, learned_shift
from symscope.forecasting._neighbours import nearest_neighbours
from symscope.forecasting._question import as_question
from symscope.forecasting._sample_split import forecast_samples
from symscope.forecasting._training_task import Training
from symscope.forecasting._trainings import Trainings
from symscope.networks import user_model
from symscope.training import Optimiser, StepPlan
from tests.forecasting.problems import blobs, small_net

wholes = st.builds(
    lambda steps, batch, kind: StepPlan(steps, batch, Optimiser(kind, 1e-2)),
    st.integers(1, 5000),
    st.integers(1, 512),
    st.sampled_from(["adam", "sgd"]),
)
costs = st.builds(StepCost, st.floats(0, 1), st.sampled_from([8, 16]))


@given(wholes, st.integers(1, 6000), costs)
def test_a_compressed_training_keeps_its_cost_and_goes_no_further_than_the_whole(whole, cost, step):
    plan = compressed_plan(whole, cost, step)
    faster = plan.optimiser.learning_rate / whole.optimiser.learning_rate
    assert plan.steps <= whole.steps
    assert min(whole.batch, step.smallest) <= plan.batch <= whole.batch
    assert 1 - 1e-9 <= faster <= FASTER[whole.optimiser.kind] + 1e-9
    assert plan.steps * faster <= whole.steps * (1 + 1e-9)
    # by the definition of a cost, where one step does not take more already
    assert plan.steps * step.of(plan.batch, whole.batch) <= max(cost, step.of(plan.batch, whole.batch)) + 1e-9
    assert 0 < progress_share(whole, plan) <= 1


@given(wholes, st.integers(1, 5000), st.integers(1, 5000), costs)
def test_more_cost_is_more_progress_up_to_the_whole_training(whole, first, second, step):
    low, high = sorted((first, second))
    shares = [progress_share(whole, compressed_plan(whole, cost, step)) for cost in (low, high)]
    assert shares[0] <= shares[1] * 1.3  # whole numbers of points and steps
    assert compressed_plan(whole, whole.steps, step) == whole
    assert progress_share(whole, whole) == 1


@given(st.floats(0, 1), st.integers(1, 16), st.integers(17, 512))
def test_the_fixed_part_of_a_step_is_read_from_two_times(fixed, smallest, whole):
    ratio = StepCost(fixed, smallest).of(smallest, whole)
    assert StepCost.measured(smallest, whole, ratio).fixed == pytest.approx(fixed, abs=0.0501)


def test_batch_norm_needs_larger_batches():
    assert smallest_batch(nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2))) == 4
    assert smallest_batch(nn.Sequential(nn.Sequential(nn.BatchNorm1d(2)))) == 16


def test_a_training_that_diverges_is_followed_by_the_plain_one():
    question = as_question(blobs(), "C4 rotation")
    model = user_model(small_net, question.shape, question.outputs)
    samples = forecast_samples(question, 0)
    trainer = DesignTrainer(model, samples, torch.device("cpu"))
    [design, *_] = interleaved_designs(samples, question.group)
    plain = StepPlan(5, 8, Optimiser("sgd", 1e-2))
    wild = replace(plain, optimiser=Optimiser("sgd", 1e30))
    with pytest.raises(DivergedError, match="lower the learning rate"):
        Training(trainer, design, wild, 0).run()
    instead = Training(trainer, design, wild, 0, otherwise=plain).run()
    torch.testing.assert_close(instead.known.total, Training(trainer, design, plain, 0).run().known.total)
    assert (instead.plain, instead.steps) == (True, 5)
    usual = Training(trainer, design, plain, 0, otherwise=plain).run()
    assert [one.plain for one in (usual, usual + instead, instead + usual)] == [False, True, True]


def test_a_pilot_that_diverged_counts_as_the_plain_one_and_says_so(monkeypatch):
    """The network raises an error in steps of a higher learning rate."""
    rate = Optimiser("adam", 1e-3)
    asked = partial(
        forecast,
        small_net,
        blobs(16),
        "C4",
        seen="0,1: upright",
        training=TrainingOptions(steps=600, batch=32, optimiser=rate),
        method="pilot",
        budget=12.0,
    )
    monkeypatch.setattr(DesignTrainer, "step_seconds", lambda self, design, plan: 0.1)  # batches save nothing
    compressed = asked()
    train = DesignTrainer.train

    def diverging(self, design, plan, seed, progress=None):
        if plan.optimiser.learning_rate > 1e-3:
            raise DivergedError("the loss is not finite")
        return train(self, design, plan, seed, progress)

    monkeypatch.setattr(DesignTrainer, "train", diverging)
    plain = asked()
    plan = plain.pilot.plan
    longest = plan.lengths[-1]
    assert plan.refitted(longest) > 0
    trained = longest - round(plan.refitted(longest) / 3 / 32)  # forward passes alone are a third
    assert plan.plain_progress == pytest.approx(trained / 600)
    assert plain.pilot.plan.plain_progress < plain.pilot.plan.progress
    samples, last = forecast_samples(plain.question, 0), plain.pilot.answers[-1]
    designs = interleaved_designs(samples, plain.question.group)
    beside = nearest_neighbours(samples, designs, torch.device("cpu"))
    share = plain.pilot.plan.plain_progress
    shift = learned_shift(last, beside, share)
    expected = learned_prediction(last.new, shift, share)
    torch.testing.assert_close(plain.pilot.new.class_score, expected.class_score, equal_nan=True)
    torch.testing.assert_close(plain.pilot.new.class_high, expected.class_high, equal_nan=True)
    assert any("took its place" in note for note in plain.notes)
    assert not any("took its place" in note for note in compressed.notes)


class WholeBatches(nn.Linear):
    """Its batch is written into it, as `x.view(32, -1)` does."""

    def __init__(self):
        super().__init__(36, 3)

    def forward(self, x):
        return super().forward(x.reshape(32, 36) if self.training else x.flatten(1))


def test_a_network_that_fails_on_small_batches_is_piloted_with_whole_ones():
    question = as_question(blobs(12), "C4 rotation")
    model = user_model(WholeBatches, question.shape, question.outputs)
    samples = forecast_samples(question, 0)
    trainer = DesignTrainer(model, samples, torch.device("cpu"))
    plain = StepPlan(9, 32, Optimiser("adam", 1e-2))
    _, step = step_times(trainer, plain, question, Trainings())
    assert step == StepCost(1.0, 32)
    assert compressed_plan(plain, 3, step).batch == 32
    [design, *_] = interleaved_designs(samples, question.group)
    small = replace(plain, batch=8)
    with pytest.raises(InputError, match="the network, trained on a batch of 8, raised RuntimeError"):
        Training(trainer, design, small, 0).run()
    instead = Training(trainer, design, small, 0, otherwise=plain).run()
    torch.testing.assert_close(instead.known.total, Training(trainer, design, plain, 0).run().known.total)


@pytest.mark.parametrize(
    ("starting", "point", "expected", "batches"),
    [
        (0.04, 1e-4, (0.04 + 0.0128, 0.8), [4, 8, 128]),  # launching takes longer than computing
        (0.01, 0.03, (0.01 + 3.84, 0.0), [4, 8]),  # too long to be timed itself
        (0.001, 0.001, (0.001 + 0.128, 0.0), [4, 128]),
    ],
)
def test_a_whole_step_is_timed_or_follows_from_two_small_batches(
    monkeypatch, starting, point, expected, batches
):
    question = as_question(blobs(12), "C4 rotation")
    samples = forecast_samples(question, 0)
    trainer = DesignTrainer(
        user_model(small_net, question.shape, question.outputs), samples, torch.device("cpu")
    )
    asked = []

    def seconds(_trainer, _design, plan):
        asked.append(plan.batch)
        return starting + point * plan.batch

    monkeypatch.setattr(DesignTrainer, "step_seconds", seconds)
    whole, step = step_times(trainer, StepPlan(9, 128, Optimiser("adam", 1e-2)), question, Trainings())
    assert (whole, step.fixed) == pytest.approx(expected, abs=0.001)
    assert asked == batches


def test_a_batch_of_a_plan_holds_no_more_points_than_there_are():
    assert TrainingOptions(batch=100_000).plan(nn.Linear(2, 2), 60) == StepPlan(
        600, 60, Optimiser("adam", 1e-3)
    )
    assert TrainingOptions(batch=7).plan(nn.Linear(2, 2), 60).batch == 7
