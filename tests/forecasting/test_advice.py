"""The price list: each number against a training of the thing itself."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import nn

from symscope.data import LabelledData, mnist_sample
from symscope.errors import BudgetError
from symscope.forecasting import ForecastOptions, TrainingOptions, _remedy_trials, forecast, forecast_page
from symscope.forecasting._cautions import label_cautions
from symscope.forecasting._compressed_training import StepCost, progress_share
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._equivariance import exact_subgroup
from symscope.forecasting._feature_neighbours import outputs_and_neighbours
from symscope.forecasting._learned_forecast import WEIGHTS, correction_features
from symscope.forecasting._pilot_plan import PilotPlan
from symscope.forecasting._price_list import Advice, Change, rank_advice
from symscope.forecasting._question import as_question
from symscope.forecasting._remedy_trials import augmentation_trial, remedy_trials
from symscope.forecasting._sample_split import forecast_samples
from symscope.forecasting._trained_answer import ScoreTable, sample_scores
from symscope.forecasting._trainings import Trainings
from symscope.forecasting._what_if import what_if
from symscope.networks import arrange_inputs, user_model
from symscope.numerics import seeded
from symscope.training import Optimiser, StepPlan, module_outputs, train_steps
from tests.forecasting.problems import blobs, small_net, spots

PILOT = ForecastOptions(method="pilot", budget=8, seed=3)
SHORT = TrainingOptions(steps=60, batch=16)


@pytest.fixture(scope="module", autouse=True)
def every_network_is_tried():
    """Whether another network is slow is measured, and differs on a busy machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_remedy_trials, "SLOW", math.inf)
        yield


@pytest.fixture(scope="module")
def covered():
    return forecast(small_net, blobs(items=20), "C4", seen="0,1: upright", training=SHORT, options=PILOT)


@pytest.fixture(scope="module")
def swept():
    return forecast(small_net, blobs(items=20), "C4", training=SHORT, options=PILOT)


def test_the_elements_that_move_pixels_exactly_are_found():
    assert exact_subgroup(as_question(blobs(), "C8"), blobs().x[:2]) == (0, 2, 4, 6)
    assert exact_subgroup(as_question(blobs(), "C3 rotation"), blobs().x[:2]) == (0,)
    assert exact_subgroup(as_question(blobs(), "D4"), blobs().x[:2]) == tuple(range(8))


def test_every_remedy_has_a_number_a_price_and_evidence(covered, swept):
    kinds = [one.kind for one in covered.advice]
    tried = set(kinds) - {"architecture"}  # other architectures are tried where there is time
    assert tried == {"nothing", "augment", "average", "samples", "build in"}
    assert kinds.count("augment") == 3  # all four elements, every other, one drawn for each sample
    assert {"nothing", "augment", "average", "build in"} <= {one.kind for one in swept.advice}
    for result in (covered, swept):
        for one in result.advice:
            assert 0 <= one.low <= one.accuracy <= one.high <= 1
            assert one.gain == pytest.approx(one.accuracy - result.accuracy)
            assert one.evidence
        [nothing] = [one for one in result.advice if one.kind == "nothing"]
        assert nothing.gain == 0.0
        [average] = [one for one in result.advice if one.kind == "average"]
        assert average.inference_cost == 4


def test_the_page_offers_every_computed_change_and_no_other(covered):
    choices = what_if(covered)
    [samples, seen, remedy] = [options for _, options in choices.menus]
    assert samples == ("as now", "twice as many", "four times as many")
    assert seen == ("as now", "1 of 4, drawn", "2 of 4, spread evenly", "all 4")
    assert remedy[:2] == ("none", "average the outputs at test time")
    assert "build the symmetry in" in remedy
    assert len(choices.outcomes) == len({places for places, _, _ in choices.outcomes})
    shown = {places: values[0] for places, values, _ in choices.outcomes}
    rows = [*covered.advice, *covered.combinations]
    assert sorted(shown.values()) == sorted(row.accuracy for row in rows)
    assert shown[0, 0, 0] == covered.accuracy
    [both] = [one for one in covered.combinations if one.change == Change(elements=4, remedy="average")]
    assert shown[0, 3, 1] == both.accuracy
    assert both.inference_cost == 4
    [built] = [one for one in covered.advice if one.kind == "build in"]
    assert (built.accuracy, built.inference_cost) == (both.accuracy, 1)
    assert (1, 1, 0) not in shown
    assert "What if?" in forecast_page(covered)


def test_the_cheapest_way_is_one_change_and_else_two(covered):
    low, high = (replace(one, accuracy=0.1) for one in covered.advice[:2]), covered.combinations[0]
    alone = replace(covered, advice=tuple(low), combinations=(replace(high, accuracy=0.95),))
    words = alone.ways_to_target
    assert words.startswith("To reach 0.90: ")
    assert ", and average the softmax probabilities over the 4 transformed inputs of test samples." in words
    single = replace(covered.advice[0], accuracy=0.92, text="Do this.", kind="augment")
    assert replace(alone, advice=(single,)).ways_to_target == "To reach 0.90: do this."
    assert "Nothing that was tried" in replace(alone, combinations=()).ways_to_target
    assert replace(alone, advice=(), combinations=()).ways_to_target == ""


def test_augmentation_is_a_training_on_all_elements_of_the_same_samples(covered):
    """The same training by hand: fresh weights, every point seen, asked at what was missing."""
    question, plan = covered.question, covered.pilot.plan
    samples = forecast_samples(question, 3)
    trainer = DesignTrainer(covered.model, samples, torch.device("cpu"))
    net = covered.model.builder(3).float()
    known, new = samples.known, samples.new
    points = arrange_inputs(known.points.flatten(0, 1), covered.model.layout)
    wanted = known.wanted.flatten()
    train_steps(net, points, wanted, torch.arange(len(points)), plan.compressed(plan.tried), seed=3)
    [trial] = augmentation_trial(question, trainer, plan, 3)
    [training] = trial.trainings
    fitted = trainer.refit(net, training.design, plan.refitted(plan.tried), 3)
    net = fitted.module
    turned = new.positions < 2  # classes that lack something
    outputs = module_outputs(
        net, arrange_inputs(new.points[turned][:, 1:].flatten(0, 1), covered.model.layout)
    )
    right = (outputs.argmax(1) == new.wanted[turned][:, 1:].flatten()).reshape(-1, 3)
    answer = training.run()
    cells = answer.new
    for position in (0, 1):
        own = right[new.positions[turned] == position].double().mean(0)
        torch.testing.assert_close(cells.mean[position, 1:], own)
    assert bool(cells.mean[2].isnan().all())
    # the price list corrects it as a pilot, with nearest neighbours among all elements of all samples
    [whole] = [one for one in covered.advice if "all 4 elements" in one.text]
    count = cells.count.sum(1)[:2]
    flat = known.points.flatten(0, 1).flatten(1).double()
    near = torch.cdist(new.points[turned][:, 1:].flatten(0, 1).flatten(1).double(), flat).argmin(1)
    same = (known.wanted.flatten()[near] == new.wanted[turned][:, 1:].flatten()).reshape(-1, 3)
    beside = torch.stack([same[new.positions[turned] == k].double().mean() for k in (0, 1)])
    reached = cells.total.sum(1)[:2] / count
    _, found = outputs_and_neighbours(
        fitted, arrange_inputs(new.points[turned][:, 1:].flatten(0, 1), covered.model.layout)
    )
    same = (found == new.wanted[turned][:, 1:].flatten()).reshape(-1, 3)
    own = torch.stack([same[new.positions[turned] == k].double().mean() for k in (0, 1)])
    likely = (
        outputs.double().softmax(1).gather(1, new.wanted[turned][:, 1:].flatten()[:, None]).reshape(-1, 3)
    )
    sure = torch.stack([likely[new.positions[turned] == k].mean() for k in (0, 1)])
    fit = (answer.fit.total.sum(1) / answer.fit.count.sum(1))[:2]
    progress = progress_share(plan.whole, plan.compressed(plan.tried))
    near = torch.maximum(own, beside)
    features = correction_features(reached, near, sure, fit, count, progress)
    logit = torch.logit((reached * count + 1) / (count + 2))
    shift = features @ torch.tensor(WEIGHTS, dtype=torch.float64) + covered.pilot.short_shift
    moved = (reached + torch.sigmoid(logit + shift) - torch.sigmoid(logit)).clamp(0, 1)
    assert whole.accuracy == pytest.approx(float(moved.mean()), abs=1e-9)
    assert whole.training_cost == pytest.approx(4 * 48 / (2 * 16 + 4 * 16))


@pytest.mark.parametrize("seen", ["0,1: upright", None])
def test_building_the_symmetry_in_is_priced_without_new_samples_too(seen):
    """With fewer than five samples of a class none is kept apart, and nothing is augmented."""
    result = forecast(small_net, blobs(items=4), "C4", seen=seen, training=SHORT, options=PILOT)
    assert result.pilot.new is None
    [built] = [one for one in result.advice if one.kind == "build in"]
    [average] = [one for one in result.advice if one.kind == "average"]
    assert (built.accuracy, built.inference_cost) == (average.accuracy, 1)
    assert built.evidence.startswith("The pilot networks")


def test_a_sweep_reads_augmentation_from_what_the_pilot_has_seen(swept):
    [augment] = [one for one in swept.advice if one.kind == "augment"]
    assert augment.accuracy == swept.pilot.covered.mean
    assert augment.training_cost == pytest.approx(4 * 48 / (4 * 48 - 16))  # of one class 16 upright ones lack
    assert augment.text == "Augment: train on all 4 elements of C4, every 90°, of every sample."


def mean_net():
    """Invariant under shifts: it sees the mean over positions of what a circular convolution makes."""
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, padding=1, padding_mode="circular"),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(4, 3),
    )


def test_nothing_is_advised_that_makes_an_invariant_network_invariant():
    how = {"training": SHORT, "options": PILOT, "name": "mean-net"}
    result = forecast(mean_net, blobs(items=6), "C3 shift-x", seen="upright", **how)
    assert not {"average", "augment", "build in"} & {one.kind for one in result.advice}
    assert not any("averag" in one.text for one in result.combinations)
    assert result.notes[0].startswith("mean-net is invariant under C3 already: augmenting, averaging")
    assert what_if(result).menus[0][0] == "Samples"
    uneven = forecast(mean_net, blobs(items=6), "C3 shift-x", seen="0,1: upright", **how)
    assert {"average", "augment", "build in"} & {one.kind for one in uneven.advice} == {"augment"}
    assert "up to 3 times as many points as another" in uneven.notes[0]
    assert not any("averag" in one.text for one in uneven.combinations)


def test_equally_good_remedies_of_one_kind_start_with_the_least_training():
    rows = [
        Advice("augment", "", score, 0.0, 1.0, 0.1, cost, 1, "") for score, cost in ((0.99, 4.0), (0.98, 2.0))
    ]
    assert [one.training_cost for one in rank_advice(rows, 0.9)] == [2.0, 4.0]
    assert [one.training_cost for one in rank_advice(rows, 1.0)] == [4.0, 2.0]


def test_labels_that_do_not_survive_are_said_without_any_training_too():
    few = ForecastOptions(method="kernel", per_class=2, resamples=1)
    result = forecast(small_net, letters(), "flip", class_names=["b", "d", "cross"], options=few)
    assert any(note.startswith("Labels do not survive") for note in result.notes)


def letters(items=40):
    """b, d and a cross: mirrored, the first two are each other."""
    b = torch.zeros(6, 6, dtype=torch.float64)
    b[:, 1] = b[3:, 3] = b[3, 1:4] = b[5, 1:4] = 1
    cross = torch.eye(6, dtype=torch.float64) + torch.eye(6, dtype=torch.float64).flip(1)
    noise = 0.2 * torch.rand(3, items, 6, 6, generator=seeded(0), dtype=torch.float64)
    x = torch.stack([b, b.flip(1), cross])[:, None] + noise
    return LabelledData(x.flatten(0, 1), torch.arange(3).repeat_interleave(items), "letters", "tests")


def test_what_mixes_labels_up_is_said_and_never_advised():
    names = ["b", "d", "cross"]
    result = forecast(
        small_net, letters(), "flip", seen="b: upright", class_names=names, training=SHORT, options=PILOT
    )
    mirrored = [note for note in result.notes if note.startswith("Labels do not survive")]
    assert len(mirrored) == 1
    assert "moved by r is confused with" in mirrored[0]
    assert "cross" not in " ".join(mirrored)
    assert not {"average", "augment", "build in"} & {one.kind for one in result.advice}


def test_six_and_nine_are_said_to_be_mixed_up_and_remedies_stay():
    digits = as_question(mnist_sample().of_classes(2, 5, 6, 9), "C2")
    left_out, mentioned = label_cautions(forecast_samples(digits, 0, 150), digits)
    assert left_out == ()
    assert len(mentioned) == 1
    assert "moved by 180° is confused with" in mentioned[0]
    assert {"6", "9"} <= set(mentioned[0].replace(":", " ").split())


def test_numbers_have_a_price_list_too():
    result = forecast(
        lambda: torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(36, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)
        ),
        spots(items=60),
        "C4",
        training=SHORT,
        options=PILOT,
    )
    assert all(one.accuracy <= 1 for one in result.advice)
    assert not any("class" in one.text for one in result.advice)


def test_an_averaged_answer_counts_once_for_each_sample():
    """Eight samples of one class at two elements that it lacks, four of another at two others."""
    counts = torch.tensor([[0, 8, 8], [4, 0, 4], [0, 0, 0]])
    totals = torch.tensor([[0, 5, 5], [3, 0, 3], [0, 0, 0]], dtype=torch.float64)
    one = sample_scores(ScoreTable(totals, counts))
    assert one.total.tolist() == [[5.0], [3.0], [0.0]]
    assert one.count.tolist() == [[8], [4], [0]]


def row(kind, accuracy):
    return Advice(kind, "", accuracy, 0.0, 1.0, 0.0, 1.0, 1, "")


def test_ranking():
    rows = [row("architecture", 0.99), row("augment", 0.7), row("average", 0.8), row("samples", 0.95)]
    assert [one.kind for one in rank_advice(rows, 0.9)] == ["samples", "architecture", "average", "augment"]


class Faint(nn.Linear):
    """A network that needs learning rates at which others diverge."""

    def __init__(self):
        super().__init__(36, 3)

    def forward(self, x):
        return super().forward(1e-4 * x.flatten(1))


def test_a_remedy_that_diverges_is_left_out_and_said_so(monkeypatch):
    fast = replace(SHORT, optimiser=Optimiser("sgd", 1e7))
    result = forecast(Faint, blobs(items=20), "C4", training=fast, options=PILOT)
    lacking = [one for one in result.notes if one.startswith("The price list lacks ")]
    assert lacking[0] == "The price list lacks conv-fc: it was tried, and diverged at this learning rate."
    assert not [one for one in result.advice if one.kind == "architecture" and "conv-fc" in one.text]

    def unmeasured(self, *_):
        return 1e-3

    monkeypatch.setattr(DesignTrainer, "step_seconds", unmeasured)  # it diverges in its trainings instead
    again = forecast(Faint, blobs(items=20), "C4", training=fast, options=PILOT)
    assert [one for one in again.notes if one.startswith("The price list lacks ")] == lacking


upright_only = partial(
    forecast, small_net, blobs(items=16), "C4", seen="0,1: upright", method="pilot", batch=16
)


def test_a_short_budget_tries_the_first_remedy_and_says_so(monkeypatch):
    """Steps of a second on a clock of our own: 600 of them are a whole training."""
    monkeypatch.setattr(DesignTrainer, "step_seconds", lambda *_: 1.0)
    monkeypatch.setattr(_remedy_trials, "SLOW", math.inf)
    short, long = (upright_only(steps=600, budget=budget) for budget in (300.0, 3000.0))
    assert (short.pilot.plan.remedies, long.pilot.plan.remedies) == (1, 6)
    assert {"samples", "architecture"}.isdisjoint(one.kind for one in short.advice)
    assert any("all 4 elements" in one.text for one in short.advice)
    assert any("time for at most 1 of 6 trainings of remedies" in note for note in short.notes)
    assert not any("trainings of remedies" in note for note in long.notes)


def test_slow_architectures_are_tried_where_there_is_time_and_named_where_not(monkeypatch):
    monkeypatch.setattr(_remedy_trials, "SLOW", 0.3)
    own = DesignTrainer.step_seconds
    slow = {"conv-fc": 40.0, "conv-gap": 9000.0}
    monkeypatch.setattr(
        DesignTrainer,
        "step_seconds",
        lambda self, *given: slow.get(self.model.name, 0.0) or own(self, *given),
    )
    result = upright_only(steps=30, budget="1h")
    architectures = [one.text for one in result.advice if one.kind == "architecture"]
    assert architectures == ["Change the architecture to one like conv-fc."]
    [note] = [one for one in result.notes if "The price list lacks" in one]
    assert note.startswith("The price list lacks conv-gap: a training of it would take about ")


def test_another_network_with_a_wide_last_layer_is_fitted_to_fewer_points():
    data = blobs(items=80, side=16)
    question = as_question(data, "C4", new=data)
    samples = forecast_samples(question, 0)
    trainer = DesignTrainer(user_model("mlp", question.shape, question.outputs), samples, torch.device("cpu"))
    whole = StepPlan(3000, 128, Optimiser("adam", 1e-3))
    plan = PilotPlan((600,), 1, 1, whole, 1, 200, 9, math.inf, StepCost(), points=900)
    trials = remedy_trials(question, trainer, plan, 0, False, Trainings(), spare=math.inf)
    fitted = {one.trainings[0].trainer.model.name: one.trainings[0].refitted for one in trials}
    assert fitted == {
        "conv-gap": 800,
        "conv-fc": 2**22 // (32 * 16 * 16),
    }  # 960 without a quarter of two classes


def test_a_refused_budget_is_below_the_one_that_would_do(monkeypatch):
    monkeypatch.setattr(DesignTrainer, "step_seconds", lambda *_: 0.3)
    for budget in (1.0, 5.0, 8.0):
        with pytest.raises(BudgetError) as refused:
            forecast(small_net, blobs(items=16), "C4", method="pilot", budget=budget, steps=600, batch=16)
        enough = float(re.search(r"give ([0-9.]+) s or more", str(refused.value))[1])
        assert enough > budget
    pilot = forecast(small_net, blobs(items=16), "C4", method="pilot", budget=2 * enough, steps=600, batch=16)
    assert pilot.pilot is not None


def test_pilots_get_what_the_kernel_leaves_of_the_budget(monkeypatch):
    """The kernel of so small a network takes much less than its third, and pilots have the rest."""
    monkeypatch.setattr(DesignTrainer, "step_seconds", lambda *_: 1.0)
    ask = partial(
        forecast, small_net, blobs(), "C4", training=TrainingOptions(steps=600, batch=16), budget=300.0
    )
    lengths = {method: ask(method=method).pilot.plan.lengths[-1] for method in ("auto", "pilot")}
    assert lengths["auto"] >= 0.9 * lengths["pilot"]


def test_a_short_budget_leaves_out_kernels_by_gradients(monkeypatch):
    """Setting gradients up takes a second; three seconds are for pilots, unless kernels are asked for."""
    monkeypatch.setattr(DesignTrainer, "step_seconds", lambda *_: 1e-3)
    ask = partial(forecast, small_net, blobs(items=16), "C4", kernel="finite", steps=60, batch=16, budget=3.0)
    beside, alone = ask(method="auto"), ask(method="kernel")
    assert beside.prediction is None
    assert any(note.startswith("What the architecture alone predicts was left out") for note in beside.notes)
    assert beside.pilot is not None
    assert alone.prediction is not None
