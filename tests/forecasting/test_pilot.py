"""Pilot trainings: plans within a budget, designs, extrapolation, what they answer."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from symscope.errors import InputError
from symscope.forecasting import ForecastOptions, TrainingOptions, forecast, forecast_page
from symscope.forecasting._compressed_training import StepCost
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._designs import interleaved_designs, true_designs
from symscope.forecasting._extrapolation import (
    extrapolated,
    rise_factor,
    score_half_widths,
    score_logits,
    shifted_scores,
)
from symscope.forecasting._pilot import _finished_part, predict_table
from symscope.forecasting._pilot_plan import PilotPlan, pilot_plan, smallest_budget
from symscope.forecasting._question import as_question
from symscope.forecasting._sample_split import forecast_samples
from symscope.forecasting._trained_answer import ScoreTable, TrainedAnswer
from symscope.forecasting._training_task import Training
from symscope.networks import user_model
from symscope.training import Optimiser, StepPlan
from tests.forecasting.problems import blobs, small_net

positive = st.floats(1e-4, 10.0)


def whole_training(steps):
    return StepPlan(steps, 32, Optimiser("adam", 1e-3))


@given(
    positive,
    st.integers(3, 5000),
    st.integers(1, 3),
    st.floats(0.1, 1e4),
    st.floats(0, 50),
    st.integers(0, 6),
)
def test_plans_keep_to_the_budget_and_never_train_longer_than_the_whole(
    step, full, designs, budget, asked, tried
):
    plan = pilot_plan(step, whole_training(full), designs, 10, budget, asked, tried)
    if plan is None:
        least = smallest_budget(step, whole_training(full), StepCost(), designs, asked)
        assert budget < least * (4 + tried) / 4 + (tried + 1) * asked * step * designs
        return
    assert plan.seconds <= budget * (1 + 1e-9)
    assert plan.lengths[0] <= plan.lengths[1] <= full
    assert plan.repeats == 1 or plan.lengths[1] >= full // 4
    assert plan.cost == plan.steps / (10 * full)


@given(
    st.integers(3, 2000),
    st.integers(1, 2),
    st.floats(1.0, 1e3),
    st.floats(0, 20),
    st.integers(0, 4),
    st.integers(1, 6),
)
def test_trainings_at_a_time_are_scheduled_and_not_divided(full, designs, budget, asked, tried, at_once):
    """The estimate is that of a real schedule: longest first, each to the first worker that is free."""
    alone = pilot_plan(0.1, whole_training(full), designs, 10, budget, asked, tried)
    plan = pilot_plan(0.1, whole_training(full), designs, 10, budget, asked, tried, at_once)
    if plan is None:
        assert alone is None
        return
    long, short = [plan.lengths[1]] * (plan.repeats * designs), [plan.lengths[0]] * ((1 + tried) * designs)
    free = [0.0] * at_once
    for steps in (*long, *short):
        free[free.index(min(free))] += 0.1 * (steps + asked)
    assert plan.seconds <= budget * (1 + 1e-9)
    assert plan.seconds >= max(free) * (1 - 1e-9)
    assert plan.seconds <= 1.5 * max(free)
    assert plan.seconds >= 0.1 * (sum(long) + sum(short)) / at_once - 1e-9
    if alone is not None:
        assert (plan.repeats, plan.lengths) >= (alone.repeats, alone.lengths)
    least = [smallest_budget(0.1, whole_training(full), StepCost(), designs, asked, n) for n in (at_once, 1)]
    assert least[0] <= least[1] + 1e-9


@pytest.mark.parametrize(
    ("finished", "lengths", "repeats", "designs", "used"),
    [
        ("ab......", (10,), 1, 2, "ab"),
        ("a.......", (10,), 1, 1, "a"),
        ("abcd....", (10, 30), 1, 2, "abcd"),
        ("abcdef..", (10, 30), 2, 2, "abcdef"),
        ("abcde...", (10, 30), 1, 2, "abcd"),
        ("..cd.f..", (30,), 1, 2, "cd"),
        ("..cdef..", (30,), 2, 2, "cdef"),
        ("...d....", (30,), 1, 1, "d"),
        ("........", (10,), 1, 0, ""),
    ],
)
def test_what_is_finished_of_a_pilot_is_a_smaller_pilot(finished, lengths, repeats, designs, used):
    """Two designs: the shorter training of each, then three repeats of the longer; letters are answers."""
    plan = PilotPlan((10, 30), 3, 2, whole_training(30), 9, 10, 0, 1.0, StepCost())
    answers = {letter: TrainedAnswer(*[table([[0.5]])] * 7, (), 0.0, 0) for letter in "abcdefgh"}
    part, smaller, words = _finished_part(plan, [answers.get(letter) for letter in finished])
    assert [id(one) for one in part] == [id(answers[letter]) for letter in used]
    assert (smaller.lengths, smaller.repeats, smaller.designs) == (lengths, repeats, designs)
    assert words


def samples_of(action="C4", classes=3, **asked):
    question = as_question(blobs(items=10, classes=classes), action, **asked)
    return question, forecast_samples(question, seed=0)


def test_interleaved_designs_leave_one_element_out_of_every_class_once():
    question, samples = samples_of("C8", classes=10)
    [design] = interleaved_designs(samples, question.group)
    assert design.missing.int().tolist() == [[int(g == c % 8) for g in range(8)] for c in range(10)]
    assert torch.equal(~design.seen, design.missing[samples.known.positions])
    [shifted] = interleaved_designs(samples, question.group, shift=1)
    assert torch.equal(shifted.missing, design.missing.roll(1, 1))


@pytest.mark.parametrize("action", ["flip", "C4"])
def test_small_groups_keep_half_of_the_classes_whole(action):
    question, samples = samples_of(action, classes=5)
    designs = interleaved_designs(samples, question.group)
    assert len(designs) == 2
    assert sum(one.missing for one in designs).sum(1).tolist() == [1] * 5
    assert all(int((~one.missing).all(1).sum()) >= 2 for one in designs)


def test_true_designs_are_one_class_each_or_the_coverage():
    question, samples = samples_of()
    designs = true_designs(samples, question.group)
    assert [one.missing.nonzero().tolist() for one in designs] == [[[c, 0]] for c in range(3)]
    question, samples = samples_of(seen="1: 0°; 2: 90..180°")
    for designs in (true_designs(samples, question.group), interleaved_designs(samples, question.group)):
        [design] = designs
        assert design.missing.int().tolist() == [[0, 0, 0, 0], [0, 1, 1, 1], [1, 0, 0, 1]]


def test_known_and_new_samples_are_apart_and_unequal_classes_are_kept():
    data = blobs(items=20)
    uneven = data.take(torch.cat([torch.arange(20), torch.arange(20, 27), torch.arange(40, 60)]))
    samples = forecast_samples(as_question(uneven, "C4"), seed=1)
    assert samples.known.positions.bincount().tolist() == [16, 6, 16]
    assert samples.new.positions.bincount().tolist() == [4, 1, 4]
    assert not set(samples.known.indices.tolist()) & set(samples.new.indices.tolist())
    few = forecast_samples(as_question(blobs(items=3), "C4"), seed=1)
    assert few.new is None
    given_new = as_question(data, "C4", new=blobs(items=2, seed=9))
    own = forecast_samples(given_new, seed=1)
    assert (len(own.known), len(own.new)) == (60, 6)
    tight = forecast_samples(as_question(data, "C4"), seed=1, memory=4 * 36 * 4 * 3 * (4 + 5))
    assert tight.known.positions.bincount().tolist() == [7, 7, 7]  # nine of each class, a fifth of them new
    assert tight.new.positions.bincount().tolist() == [2, 2, 2]
    assert "7 samples of each class and 2 new are used" in tight.notes[0]
    with pytest.raises(InputError, match=r"3 samples of each class under 4 elements take 5\.19 kB, got 3 kB"):
        forecast_samples(as_question(data, "C4"), seed=1, memory=3000)


def table(shares, count=50):
    shares = torch.tensor(shares, dtype=torch.float64)
    return ScoreTable(shares * count, torch.full(shares.shape, count))


def test_large_groups_take_fewer_samples_and_say_so():
    question, said = as_question(blobs(items=20), "C4"), []
    whole = forecast_samples(question, 0, progress=lambda *now: said.append(now))
    assert said[-1] == ("transforming samples", 60, 60)
    assert whole.notes == ()
    few = forecast_samples(question, 0, seconds=0.0)  # no time at all: two known samples and a new one
    assert (len(few.known), len(few.new)) == (6, 3)
    assert "under 4 elements would take about" in few.notes[0]
    kept = [int((whole.known.indices == k).nonzero()[0, 0]) for k in few.known.indices]
    torch.testing.assert_close(few.known.points, whole.known.points[kept])


def test_a_whole_training_is_not_extrapolated():
    plan = replace(pilot_plan(0.01, whole_training(300), 1, 10, 1e3), repeats=1)
    tables = [table([[0.2, 0.5]]), table([[0.4, 0.9]])]
    result = predict_table(tables, plan, bounded=True)
    torch.testing.assert_close(result.table, tables[1].mean)
    assert result.mean == pytest.approx(0.65)


@given(st.integers(1, 100), st.integers(2, 5), st.integers(1, 5))
def test_rises_go_on_ever_more_slowly(first, ratio, times):
    second = first * ratio
    factors = [rise_factor(first, second, second * ratio**k) for k in range(times + 1)]
    assert factors == pytest.approx([sum(0.5 ** (j + 1) for j in range(k)) for k in range(times + 1)])
    assert all(factor < 1 for factor in factors)


def test_extrapolation_by_hand():
    first, second = table([[0.2, 0.5]]), table([[0.5, 0.5]])
    rises = [math.log(26 / 26) - math.log(11 / 41), 0.0]
    moved = extrapolated(score_logits(first, True), score_logits(second, True), 0.5)
    common = sum(rises) / 2
    assert moved[0].tolist() == pytest.approx([0.5 * (0.5 * rise + 0.5 * common) for rise in rises])
    scores = shifted_scores(second, moved, True)
    assert scores[0].tolist() == pytest.approx([1 / (1 + math.exp(-float(z))) for z in moved[0]])
    numbers = shifted_scores(
        table([[0.5]]), torch.full((1, 1), math.log(2.0), dtype=torch.float64), bounded=False
    )
    assert float(numbers) == pytest.approx(0.75)


def test_intervals_grow_with_what_is_extrapolated_and_shrink_with_points():
    moved = torch.tensor([[0.0, 1.0]], dtype=torch.float64)
    own, far = score_half_widths(table([[0.5, 0.5]]), moved, True, repeats=1)
    assert float(far[0, 0]) == 0.0
    assert float(far[0, 1]) > 0
    many, _ = score_half_widths(table([[0.5, 0.5]], count=5000), moved, True, repeats=1)
    assert bool((many < own).all())


def test_a_plan_says_in_words_what_is_trained():
    half = PilotPlan((50, 150), 2, 1, whole_training(300), 6, 50, 0, 1.0, StepCost())
    assert "at the cost of 50 and 150 steps (the longer 2 times), each" in half.text
    last = half.trainings[-1]
    assert f"{last.steps} steps of {last.batch} points at the same learning rate), and what 300" in half.text
    whole = replace(half, lengths=(300,), repeats=1)
    assert whole.text.endswith("; it is the whole training, 300 steps of " + f"{whole.whole.batch} points")


def test_whole_trainings_are_repeated_where_there_is_time_and_averaged():
    """A coverage replaces one training; three of them show what seeds make of it."""
    asked = partial(
        forecast,
        small_net,
        blobs(items=20),
        "C4",
        seen="0,1: upright",
        training=TrainingOptions(steps=30, batch=16),
    )
    result = asked(method="pilot", budget="10m")
    plan, [_, last] = result.pilot.plan, result.pilot.answers
    assert (plan.repeats, plan.lengths[-1], last.trainings) == (3, 30, 3)
    trainer = DesignTrainer(result.model, forecast_samples(result.question, 0), torch.device("cpu"))
    [design] = interleaved_designs(trainer.samples, result.question.group)
    scores = [trainer.evaluate(trainer.train(design, plan.whole, seed), design, 30).new for seed in range(3)]
    torch.testing.assert_close(last.new.total, sum(one.total for one in scores))


def test_a_pilot_answers_for_new_and_known_samples_and_says_what_it_cost():
    options = ForecastOptions(method="pilot", budget=5)
    result = forecast(small_net, blobs(items=20), "C4", training=TrainingOptions(steps=90), options=options)
    assert result.prediction is None
    assert result.method == "pilot"
    assert result.pilot.new.class_score.shape == (3,)
    assert int((~result.pilot.new.table.isnan()).sum()) == 3 * result.pilot.plan.repeats
    assert result.pilot.plan.replaced == 3
    assert f"{result.pilot.plan.cost:.0%} of the 3 trainings it replaces" in result.verdict
    for longer, words in ((80, "as much as the training it replaces"), (90, "a whole training")):
        plan = replace(result.pilot.plan, lengths=(30, longer), repeats=1, replaced=1)
        spent = replace(result, pilot=replace(result.pilot, plan=plan))
        assert spent.basis.endswith(f", {words}")
    several = replace(result.pilot, plan=replace(plan, repeats=2))
    assert replace(result, pilot=several).basis.endswith(", 2 whole trainings")
    low, high = result.interval
    assert low <= result.accuracy <= high
    html = forecast_page(result)
    assert "How it goes on" in html
    assert result.pilot.plan.text in html
    trained = result.to_dict()["pilot"]["plan"]["trainings"]
    assert [one["steps"] for one in trained] == [one.steps for one in result.pilot.plan.trainings]
    assert "The architecture alone" not in html


def test_an_invariant_network_knows_of_a_missing_point_what_it_knows_of_the_sample():
    pooled = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1, padding_mode="circular"),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 3),
    )
    question, samples = samples_of("C3 shift-x")
    trainer = DesignTrainer(user_model(pooled, (6, 6), 3), samples, torch.device("cpu"))
    for design in interleaved_designs(samples, question.group):
        answer = Training(trainer, design, StepPlan(20, 16, Optimiser("adam", 1e-2)), 0).run()
        for c, g in design.missing.nonzero().tolist():
            other = (g + 1) % 3
            assert float(answer.known.mean[c, g]) == float(answer.fit.mean[c, other])
            assert float(answer.new.mean[c, g]) == float(answer.averaged.mean[c, g])
            assert float(answer.new.mean[c, g]) == float(answer.covered.mean[c, other])


def test_a_budget_that_is_too_small_names_the_one_that_would_do(monkeypatch):
    with pytest.raises(InputError, match=r"give [\d.]+ s or more"):
        forecast(
            lambda: nn.Sequential(nn.Flatten(), nn.Linear(36, 2000), nn.ReLU(), nn.Linear(2000, 3)),
            blobs(items=20),
            "C4",
            options=ForecastOptions(method="pilot", budget=1e-3),
        )
    monkeypatch.setattr(DesignTrainer, "step_seconds", lambda *_: 1.0)
    tiny = ForecastOptions(budget=5, per_class=2, resamples=1)
    result = forecast(small_net, blobs(items=20), "C4", options=tiny)
    assert result.method == "kernel"
    assert "pilot trainings take" in result.notes[-1]


def test_new_samples_may_be_given_with_names_of_their_own():
    data, other = blobs(items=6), blobs(items=5, seed=5)
    words = ("ant", "bee", "cow")
    options = ForecastOptions(method="pilot", budget=4)
    named = [words[int(k)] for k in other.labels]
    result = forecast(
        small_net,
        (data.x, [words[int(k)] for k in data.labels]),
        "C4",
        new=(other.x.flip(0), named[::-1]),
        training=TrainingOptions(steps=30),
        options=options,
    )
    assert int(result.pilot.answers[-1].new.count.sum()) == 15  # both designs together
    with pytest.raises(InputError, match="class 'elk' is not in the data"):
        forecast(small_net, (data.x, [words[int(k)] for k in data.labels]), "C4", new=(other.x, ["elk"] * 15))
    with pytest.raises(InputError, match="new samples are taken from the data itself"):
        forecast(small_net, (data.x, torch.rand(18, 2)), "C4", new=(other.x, torch.rand(15, 2)))
    with pytest.raises(InputError, match="expected samples of shape"):
        forecast(small_net, data, "C4", new=(other.x[:, :5], other.labels))
