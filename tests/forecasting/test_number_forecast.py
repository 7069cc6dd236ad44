"""Forecasts of numbers from pilots that have not learned: regression against scikit-learn, lines by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.forecasting._advice import Remedies
from symscope.forecasting._compressed_training import StepCost
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._designs import interleaved_designs, true_designs
from symscope.forecasting._number_forecast import regression_scores, regression_weight, trained_numbers
from symscope.forecasting._pilot import pilot_forecast, predict_table
from symscope.forecasting._pilot_plan import PilotPlan
from symscope.forecasting._question import as_question
from symscope.forecasting._remedy_trials import Trial
from symscope.forecasting._sample_split import forecast_samples
from symscope.forecasting._trained_answer import ScoreTable
from symscope.forecasting._training_task import Training
from symscope.networks import user_model
from symscope.training import Optimiser, StepPlan
from tests.forecasting.problems import arrow_net, arrows


def table(*means, count=40):
    means = torch.tensor([means], dtype=torch.float64)
    return ScoreTable(means * count, torch.full(means.shape, count))


def plan(short, long, full=600):
    whole = StepPlan(full, 16, Optimiser("adam", 1e-3))
    return PilotPlan((short, long), 1, 1, whole, 1, short, 0, 0.0, StepCost(1.0))


def test_regression_is_that_of_scikit_learn():
    ridge = pytest.importorskip("sklearn.kernel_ridge")
    question = as_question(arrows(30), "C4", seen="upright", target_action="vector")
    samples = forecast_samples(question, 0)
    designs = interleaved_designs(samples, question.group)
    _, found = regression_scores(samples, designs)
    seen, new = designs[0].seen, samples.new
    points = samples.known.points[seen].flatten(1).double()
    width = float(torch.cdist(points, points).median())
    model = ridge.KernelRidge(alpha=1e-3, kernel="rbf", gamma=1 / (2 * width**2))
    model.fit(points.numpy(), samples.known.wanted[seen].numpy())
    for s in range(len(new)):
        assert len(new) <= 20
        for g in designs[0].missing[new.positions[s]].nonzero()[:, 0].tolist():
            output = torch.from_numpy(model.predict(new.points[s, g].flatten()[None].double().numpy()))
            found.total[new.positions[s], g] -= samples.scores(output, new.wanted[s, g][None])[0]
    assert float(found.total.abs().max()) < 1e-8
    assert int(found.count.sum()) == 3 * len(new)


@given(st.floats(-2, 1), st.floats(0, 1))
def test_regression_counts_less_the_more_is_fitted_and_done(fitted, share):
    weight = regression_weight(fitted, share)
    assert 0 <= weight <= 1
    assert weight <= regression_weight(fitted - 0.1, share)
    assert weight >= regression_weight(fitted, min(1.0, share + 0.1))
    assert regression_weight(fitted, 1.0) == 0 == regression_weight(1.0, share)


def test_a_score_that_rises_with_the_fit_is_extended_to_a_perfect_fit():
    """From -1.1 at a fit of 0.70 to -0.7 at 0.80, 0.3 is left of it: at most three rises less a tenth."""
    tables = [table(-1.1, -1.1), table(-0.7, -0.7)]
    score, apart = trained_numbers(tables, [0.7, 0.8], plan(20, 60), table(0.5, 0.5))
    alone = -0.7 + 0.4 * 2.0  # (1 - 0.8) / (0.8 - 0.7)
    weight = 0.2 * 0.9
    assert score.tolist() == [[pytest.approx((1 - weight) * alone + weight * 0.5)] * 2]
    assert apart.tolist() == [[pytest.approx(0.5)] * 2]  # further away than the pilots alone
    falling, _ = trained_numbers([table(-0.2), table(-0.8)], [0.2, 0.5], plan(60, 180), table(-5.0))
    assert float(falling) < -1.4  # below the line's -1.4 only by the regression


def test_a_whole_training_is_left_as_it_is():
    tables = [table(0.1, 0.3), table(0.4, 0.5)]
    score, _ = trained_numbers(tables, [0.5, 0.6], plan(200, 600), table(-3.0, 0.9))
    torch.testing.assert_close(score, tables[-1].mean)


def test_one_length_alone_is_pulled_towards_the_regression():
    one = replace(plan(20, 60), lengths=(60,))
    score, _ = trained_numbers([table(-0.2)], [0.1], one, table(-4.0))
    assert float(score) == pytest.approx(0.19 * -0.2 + 0.81 * -4.0)


def test_intervals_of_a_pilot_that_has_not_learned_reach_what_regression_points_to():
    question = as_question(arrows(40), "C4", seen="upright", target_action="vector")
    samples = forecast_samples(question, 0)
    model = user_model(arrow_net, question.shape, question.outputs)
    trainer = DesignTrainer(model, samples, torch.device("cpu"))
    pilot = pilot_forecast(trainer, question.group, plan(2, 6), 0)
    assert pilot.fitted < 0.9
    assert pilot.regression is not None
    anchor = float((pilot.regression.total.sum(1) / pilot.regression.count.sum(1)).mean())
    plain = predict_table([one.new for one in pilot.answers], pilot.plan, False, pilot.fitted)
    assert abs(pilot.new.mean - anchor) < abs(plain.mean - anchor)
    low, high = pilot.new.interval
    assert low <= min(anchor, pilot.new.mean)
    assert max(anchor, pilot.new.mean) <= high <= 1
    assert len(true_designs(samples, question.group)) == 1
    assert not math.isnan(pilot.known.mean)


def narrow_net():
    """Four units that saturate: it learns the same numbers far more slowly."""
    return torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(49, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)
    )


def test_what_another_network_reaches_does_not_depend_on_the_one_asked_about():
    question = as_question(arrows(40), "C4", seen="upright", target_action="vector")
    samples = forecast_samples(question, 0)
    other = DesignTrainer(user_model("mlp", question.shape, 2), samples, torch.device("cpu"))
    [design] = true_designs(samples, question.group)
    asked, rows = [], []
    for net in (arrow_net, narrow_net):
        model = user_model(net, question.shape, question.outputs)
        trainer = DesignTrainer(model, samples, torch.device("cpu"))
        pilot = pilot_forecast(trainer, question.group, plan(3, 9, 120), 0)
        trial = Trial("architecture", [Training(other, design, pilot.plan.trainings[0], 0)])
        remedies = Remedies(question, trainer, pilot, 0)
        [row] = [one for one in remedies.tried(trial) if one.kind == "architecture"]
        asked.append(pilot.headline.mean)
        rows.append(row)
    assert abs(asked[0] - asked[1]) > 0.02  # they are not equally good themselves
    assert rows[0].accuracy == pytest.approx(rows[1].accuracy)
    assert (rows[0].low, rows[0].high) == pytest.approx((rows[1].low, rows[1].high))
