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
from symscope.forecasting import CheckOptions, ForecastOptions, forecast
from symscope.forecasting._check import training_check
from symscope.forecasting._forecast_figures import cases_figure, classes_figure, group_size_figure
from symscope.forecasting._forecast_page import forecast_page
from symscope.forecasting._kernel_choice import tangent_kernel
from symscope.forecasting._question import as_question
from symscope.forecasting._remedies import augmented_accuracy, invariant_accuracy
from symscope.forecasting._resample import draw_resample
from symscope.groups import cyclic
from symscope.kernels import infinite_width
from symscope.networks import user_model
from symscope.spectral.dense import regression
from symscope.training import Optimiser
from tests.forecasting.problems import FEW, number_net, spots
from tests.tolerances import DENSE_PREDICTION


@pytest.fixture(scope="module")
def checked():
    settings = CheckOptions(epochs=80, kernel_classes=1)
    return forecast(
        number_net, spots(), "C4", train=settings, options=ForecastOptions(per_class=3, resamples=2)
    )


@pytest.mark.parametrize("both", [False, True])
def test_the_group_form_is_dense_regression_when_the_action_is_exact(both):
    """Everything again from the raw numbers: points, standardisation, groups, regression, scores."""
    data = spots(both=both)
    net = number_net(1 + both)
    result = forecast(lambda: net, data, "C4", options=ForecastOptions(per_class=3, resamples=1, seed=5))
    items = result.question.data.per_class(3, 5).indices
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
        assert float(result.prediction.class_accuracy[0, c]) == pytest.approx(
            float(explained), abs=DENSE_PREDICTION
        )
        error = (apart * unit).square().sum(1).mean().sqrt()
        assert float(result.prediction.class_error[c]) == pytest.approx(float(error), rel=1e-7)
        rows = result.prediction.resample_prediction.samples // 3 == c
        assert torch.allclose(
            result.prediction.resample_prediction.prediction[rows], said, atol=DENSE_PREDICTION
        )
    assert torch.allclose(
        result.prediction.table, result.prediction.class_accuracy.mean(0)[:, None].expand(5, 4), atol=1e-8
    )
    assert result.prediction.confusion is None
    assert bool(result.prediction.pairs.error.isnan().all())
    assert bool((result.prediction.pairs.density > 0).all())
    # items of a group really are of one fifth
    lowest, highest = data.targets[items][:3, 0], data.targets[items][-3:, 0]
    assert both or float(lowest.max()) < float(highest.min())


def test_missing_groups_can_be_named():
    result = forecast(
        number_net,
        spots(),
        "C4",
        missing={0: [0, 2], 4: [1]},
        options=ForecastOptions(per_class=3, resamples=2),
    )
    asked = (~result.prediction.table.isnan()).int().tolist()
    assert asked == [[1, 0, 1, 0], [0] * 4, [0] * 4, [0] * 4, [0, 1, 0, 0]]
    assert bool(result.prediction.class_accuracy[:, 1:4].isnan().all())
    low, high = result.interval
    assert low < result.accuracy < high <= 1
    assert "the missing cases" in result.verdict


def test_an_invariant_network_explains_everything():
    pooled = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1, padding_mode="circular"), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(4, 1),
    )  # fmt: skip
    result = forecast(pooled, spots(), "C3 shift-x", options=FEW)
    assert result.accuracy == pytest.approx(1.0, abs=DENSE_PREDICTION)
    assert forecast(number_net, spots(), "C3 shift-x", options=FEW).accuracy < 0.9


def test_advice_is_about_the_same_score(checked):
    question = as_question(spots(), "C4")
    kernel = tangent_kernel(user_model(number_net, (6, 6), 1), (6, 6)).kernel(0)
    resample = draw_resample(question, 2, 0)
    assert augmented_accuracy(question, kernel, resample) == (1.0, 0.0)
    assert invariant_accuracy(kernel(resample.flat), question, resample) == pytest.approx(1.0, abs=1e-8)
    kinds = {one.kind for one in checked.advice}
    assert {"augment", "pool", "build in"} <= kinds
    assert not any("class" in one.evidence for one in checked.advice)
    assert all(one.accuracy <= 1 + 1e-9 for one in checked.advice)


def test_training_is_squared_loss_on_standardised_numbers():
    question = as_question(spots(), "C4")
    resample = draw_resample(question, 2, 0)
    model = user_model(number_net, (6, 6), 1)
    settings = CheckOptions(epochs=50, batch=40, optimiser=Optimiser("sgd", 0.05), kernel_classes=5)
    result, first = training_check(model, question, resample, settings, ForecastOptions(seed=4))
    seen = torch.ones(10, 4, dtype=torch.bool)
    seen[:2, 0] = False
    net = model.builder(4).float()
    steps = torch.optim.SGD(net.parameters(), lr=0.05)
    x, y = resample.points[seen].float()[:, None], resample.outputs[:, None].expand(10, 4, 1)[seen].float()
    for _ in range(50):
        steps.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        steps.step()
    with torch.no_grad():
        said = net(resample.points[:2, :1].float()).double()
    assert torch.allclose(first(resample.points[:2, :1]), said, atol=1e-4)
    assert float(result.class_accuracy[0]) == pytest.approx(
        float(resample.scores(said, torch.arange(2)).mean()), abs=1e-3
    )
    assert not bool(result.refit_accuracy.isnan().any())
    assert 0 < result.kernel_change < 1


def test_words_speak_of_explained_variation(checked):
    words = checked.verdict
    assert f"is predicted to explain {checked.accuracy:.0%} of the targets' variation on" in words
    assert f"trained, it explains {checked.check.accuracy:.0%}" in words
    assert "per group" in words
    html = forecast_page(checked, "symscope forecast")
    assert "lowest fifth" in html
    assert "Predictions for each group" in html
    assert "confused" not in html
    text = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", html.partition("<body")[2], flags=re.DOTALL)
    for wrong in ("class", "accuracy"):
        assert wrong not in text, wrong


def test_programs_are_told_what_the_numbers_are(checked):
    result = checked.to_dict()
    assert result["question"]["task"] == "regression"
    assert result["explained"] == checked.accuracy
    assert result["prediction"]["group_explained"] == checked.prediction.class_accuracy.mean(0).tolist()
    assert result["prediction"]["group_error"] == checked.prediction.class_error.tolist()
    assert result["question"]["group_names"][0] == "lowest fifth"
    assert result["check"]["group_explained"] == checked.check.class_accuracy.tolist()
    assert result["advice"][0]["explained"] == checked.advice[0].accuracy
    assert result["prediction"]["confusion"] is None
    text = json.dumps(checked.to_dict())
    assert '"accuracy"' not in text
    assert "_class" not in text


def test_figures_hold_what_is_below_zero(checked):
    cases = cases_figure(checked)
    texts = [axes.get_title() for axes in cases.axes if axes.get_title()]
    assert all(text.startswith("predicted ") and "\nis " in text for text in texts)
    low = min(
        float(checked.prediction.class_accuracy.mean(0).min()), float(checked.check.class_accuracy.min()), 0.0
    )
    bars = classes_figure(checked).axes[0]
    assert bars.get_ylim()[0] <= max(low, -1.0)
    far = replace(checked.prediction, class_accuracy=checked.prediction.class_accuracy - 5)
    cut = classes_figure(replace(checked, prediction=far)).axes[0]
    assert cut.get_ylim()[0] == pytest.approx(-1.03)
    assert cut.get_ylabel() == "variation explained (cut at -1)"
    curve = group_size_figure(checked)
    assert curve.axes[0].get_ylim()[0] <= max(
        -1.0, min(one.accuracy for one in checked.prediction.group_sizes)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": lambda: number_net(2)}, "has 2 outputs, the data has 1 numbers to predict"),
        ({"missing": {7: [0]}}, "missing: group 7 is not in the data"),
        ({"missing": {}}, "missing: expected at least one group"),
        ({"missing": {1: [0, 1, 2, 3]}}, "every transformation of group 1 is missing"),
        ({"options": ForecastOptions(per_class=99)}, "has 6 (items|samples), not 99"),
        ({"data": spots(items=3)}, "expected 4 samples or more"),
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
    with pytest.raises(InputError, match="samples drawn all have the same numbers"):
        forecast(number_net, lonely, "C4", options=ForecastOptions(per_class=1, resamples=3))
