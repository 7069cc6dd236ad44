"""Forecasts of numbers from end to end: dense regression as oracle, training, page, programs, bad input."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
import torch
from torch import nn

from symscope.data import MeasuredData, custom_action
from symscope.errors import InputError
from symscope.forecasting import Training, forecast
from symscope.forecasting._augmented import augmented_accuracy, invariant_accuracy
from symscope.forecasting._check import outcome
from symscope.forecasting._forecast_figures import cases_figure, classes_figure, density_figure
from symscope.forecasting._forecast_page import forecast_page
from symscope.forecasting._kernel_choice import tangent_of
from symscope.forecasting._question import as_problem, drawn
from symscope.forecasting._summary import as_json, verdict
from symscope.groups import cyclic
from symscope.kernels import infinite_width
from symscope.networks import user_model
from symscope.spectral.dense import regression
from symscope.training import Optimiser
from tests.forecasting.problems import number_net, spots
from tests.tolerances import DENSE_PREDICTION


@pytest.fixture(scope="module")
def checked():
    settings = Training(epochs=80, kernels=1)
    return forecast(number_net, spots(), "C4", per_class=3, draws=2, train=settings)


@pytest.mark.parametrize("both", [False, True])
def test_the_group_form_is_dense_regression_when_the_action_is_exact(both):
    """Everything again from the raw numbers: points, standardisation, groups, regression, scores."""
    data = spots(both=both)
    net = number_net(1 + both)
    found = forecast(lambda: net, data, "C4", per_class=3, draws=1, seed=5)
    items = found.problem.data.per_class(3, 5).indices
    points = torch.stack([torch.rot90(data.x[items], k, (-2, -1)) for k in range(4)], 1).flatten(2)
    points = points - points.mean(2, keepdim=True)
    points = (points / points.square().mean(2, keepdim=True).sqrt()).flatten(0, 1)
    gram = infinite_width(net[1:], parameterisation="standard").ntk(points)
    unit = data.targets.std(0, correction=0)
    y = ((data.targets - data.targets.mean(0)) / unit)[items]
    for c in range(5):
        own = torch.arange(3 * c, 3 * c + 3)
        said = regression(gram, y.repeat_interleave(4, 0), own * 4, ridge=0.0)
        apart = said - y[own]
        explained = 1 - apart.square().sum(1).mean() / (y - y.mean(0)).square().sum(1).mean()
        assert float(found.class_accuracy[0, c]) == pytest.approx(float(explained), abs=DENSE_PREDICTION)
        error = (apart * unit).square().sum(1).mean().sqrt()
        assert float(found.class_error[c]) == pytest.approx(float(error), rel=1e-7)
        rows = found.first_expectation.seeds // 3 == c
        assert torch.allclose(found.first_expectation.prediction[rows], said, atol=DENSE_PREDICTION)
    assert torch.allclose(found.table, found.class_accuracy.mean(0)[:, None].expand(5, 4), atol=1e-8)
    assert found.confusion is None
    assert bool(found.pairs.error.isnan().all())
    assert bool((found.pairs.density > 0).all())
    # items of a group really are of one fifth
    lowest, highest = data.targets[items][:3, 0], data.targets[items][-3:, 0]
    assert both or float(lowest.max()) < float(highest.min())


def test_missing_groups_can_be_named():
    found = forecast(number_net, spots(), "C4", missing={0: [0, 2], 4: [1]}, per_class=3, draws=2)
    asked = (~found.table.isnan()).int().tolist()
    assert asked == [[1, 0, 1, 0], [0] * 4, [0] * 4, [0] * 4, [0, 1, 0, 0]]
    assert bool(found.class_accuracy[:, 1:4].isnan().all())
    low, high = found.interval
    assert low < found.accuracy < high <= 1
    assert "the missing cases" in verdict(found)


def test_an_invariant_network_explains_everything():
    pooled = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1, padding_mode="circular"), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(4, 1),
    )  # fmt: skip
    found = forecast(pooled, spots(), "C3 shift-x", per_class=2, draws=1)
    assert found.accuracy == pytest.approx(1.0, abs=DENSE_PREDICTION)
    assert forecast(number_net, spots(), "C3 shift-x", per_class=2, draws=1).accuracy < 0.9


def test_advice_is_about_the_same_score(checked):
    problem = as_problem(spots(), "C4")
    kernel = tangent_of(user_model(number_net, (6, 6), 1), (6, 6)).kernel(0)
    draw = drawn(problem, 2, 0)
    assert augmented_accuracy(problem, kernel, draw) == (1.0, 0.0)
    assert invariant_accuracy(kernel(draw.flat), problem, draw) == pytest.approx(1.0, abs=1e-8)
    kinds = {one.kind for one in checked.advice}
    assert {"augment", "pool", "build in"} <= kinds
    assert not any("class" in one.evidence for one in checked.advice)
    assert all(one.accuracy <= 1 + 1e-9 for one in checked.advice)


def test_training_is_squared_loss_on_standardised_numbers():
    problem = as_problem(spots(), "C4")
    draw = drawn(problem, 2, 0)
    model = user_model(number_net, (6, 6), 1)
    settings = Training(epochs=50, batch=40, optimiser=Optimiser("sgd", 0.05), kernels=5)
    found, first = outcome(model, draw, problem.group, None, settings, seed=4)
    seen = torch.ones(10, 4, dtype=torch.bool)
    seen[:2, 0] = False
    net = model.builder(4).float()
    steps = torch.optim.SGD(net.parameters(), lr=0.05)
    x, y = draw.points[seen].float()[:, None], draw.outputs[:, None].expand(10, 4, 1)[seen].float()
    for _ in range(50):
        steps.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        steps.step()
    with torch.no_grad():
        said = net(draw.points[:2, :1].float()).double()
    assert torch.allclose(first(draw.points[:2, :1]), said, atol=1e-4)
    assert float(found.class_accuracy[0]) == pytest.approx(
        float(draw.scores(said, torch.arange(2)).mean()), abs=1e-3
    )
    assert not bool(found.refit_accuracy.isnan().any())
    assert 0 < found.moved < 1


def test_words_speak_of_explained_variation(checked):
    words = verdict(checked)
    assert f"is expected to explain {checked.accuracy:.0%} of the targets' variation at" in words
    assert f"trained, it explains {checked.outcome.accuracy:.0%}" in words
    assert words.endswith("a group.")
    html = forecast_page(checked, "symscope forecast")
    assert "lowest fifth" in html
    assert "What is said of each group" in html
    assert "mixed up" not in html
    text = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", html.partition("<body")[2], flags=re.DOTALL)
    for wrong in ("read right", "class", "accuracy"):
        assert wrong not in text, wrong


def test_programs_are_told_what_the_numbers_are(checked):
    found = json.loads(as_json(checked))
    assert found["task"] == "regression"
    assert found["explained"] == checked.accuracy
    assert found["group_explained"] == checked.class_accuracy.mean(0).tolist()
    assert found["group_error"] == checked.class_error.tolist()
    assert found["group_names"][0] == "lowest fifth"
    assert found["outcome"]["group_explained"] == checked.outcome.class_accuracy.tolist()
    assert found["advice"][0]["explained"] == checked.advice[0].accuracy
    assert found["confusion"] is None
    text = as_json(checked)
    assert '"accuracy"' not in text
    assert "_class" not in text


def test_figures_hold_what_is_below_zero(checked):
    cases = cases_figure(checked)
    texts = [axes.get_title() for axes in cases.axes if axes.get_title()]
    assert all(text.startswith("says ") and "\nis " in text for text in texts)
    low = min(float(checked.class_accuracy.mean(0).min()), float(checked.outcome.class_accuracy.min()), 0.0)
    bars = classes_figure(checked).axes[0]
    assert bars.get_ylim()[0] <= max(low, -1.0)
    far = checked.class_accuracy - 5
    cut = classes_figure(replace(checked, class_accuracy=far)).axes[0]
    assert cut.get_ylim()[0] == pytest.approx(-1.03)
    assert cut.get_ylabel() == "variation explained (cut at -1)"
    curve = density_figure(checked)
    assert curve.axes[0].get_ylim()[0] <= max(-1.0, min(one.accuracy for one in checked.densities))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": lambda: number_net(2)}, "has 2 outputs, the data has 1 numbers to predict"),
        ({"missing": {7: [0]}}, "missing: group 7 is not in the data"),
        ({"missing": {}}, "missing: expected at least one group"),
        ({"missing": {1: [0, 1, 2, 3]}}, "every transformation of group 1 is missing"),
        ({"per_class": 99}, "has 6 items, not 99"),
        ({"data": spots(items=3)}, "expected 4 items or more"),
        ({"action": custom_action(cyclic(2), lambda g, x: -x if g else x, 3)}, "moves samples with 3 axes"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(arguments, message):
    given = {"model": number_net, "data": spots(), "action": "C4"} | arguments
    with pytest.raises(InputError, match=message):
        forecast(**given)


def test_draws_of_one_number_are_refused():
    data = spots(items=40)
    targets = torch.zeros(40, dtype=torch.float64)
    targets[7] = 1.0
    lonely = MeasuredData(data.x, targets, "lonely", "tests")
    with pytest.raises(InputError, match="items drawn all have the same numbers"):
        forecast(number_net, lonely, "C4", per_class=1, draws=3)
