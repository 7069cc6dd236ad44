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
from symscope.forecasting import ForecastOptions, TrainingOptions, forecast
from symscope.forecasting._cases_figure import cases_figure
from symscope.forecasting._forecast_figures import classes_figure, table_figure
from symscope.forecasting._forecast_page import forecast_page
from symscope.forecasting._trained_answer import class_scores
from symscope.groups import cyclic
from symscope.kernels import infinite_width
from symscope.spectral.dense import regression
from tests.forecasting.problems import FEW, kernel_only, number_net, spots
from tests.tolerances import DENSE_PREDICTION


@pytest.fixture(scope="module")
def checked():
    return forecast(
        number_net,
        spots(),
        "C4",
        train=True,
        training=TrainingOptions(steps=200, max_classes=2),
        options=ForecastOptions(budget=6, per_class=3, resamples=2),
    )


@pytest.mark.parametrize("both", [False, True])
def test_the_group_form_is_dense_regression_when_the_action_is_exact(both):
    """Everything again from the raw numbers: points, standardisation, groups, regression, scores."""
    data = spots(both=both)
    net = number_net(1 + both)
    options = kernel_only(per_class=3, resamples=1, seed=5)
    result = forecast(lambda: net, data, "C4", target_action="same" if both else None, options=options)
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
        options=kernel_only(per_class=3, resamples=2),
    )
    asked = (~result.prediction.table.isnan()).int().tolist()
    assert asked == [[1, 0, 1, 0], [0] * 4, [0] * 4, [0] * 4, [0, 1, 0, 0]]
    assert bool(result.prediction.class_accuracy[:, 1:4].isnan().all())
    low, high = result.interval
    assert low < result.accuracy < high <= 1
    assert "what is missing" in result.verdict


def test_an_invariant_network_explains_everything():
    pooled = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1, padding_mode="circular"), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(4, 1),
    )  # fmt: skip
    result = forecast(pooled, spots(), "C3 shift-x", options=FEW)
    assert float(result.prediction.class_accuracy.mean()) == pytest.approx(1.0, abs=DENSE_PREDICTION)
    assert float(class_scores(result.prediction.full.known).mean()) == pytest.approx(1.0, abs=1e-6)
    plain = forecast(number_net, spots(), "C3 shift-x", options=FEW)
    assert float(plain.prediction.class_accuracy.mean()) < 0.9


def test_words_speak_of_explained_variation(checked):
    words = checked.verdict
    assert f"is predicted to explain {checked.accuracy:.0%} of the targets' variation on" in words
    trained = checked.check.accuracy
    did = f"explains {trained:.0%}" if trained >= 0 else "does worse than predicting the mean"
    assert f"trained, it {did}" in words
    assert " per group" in words
    html = forecast_page(checked, "symscope forecast")
    assert "lowest fifth" in html
    assert "Predictions for each group" in html
    assert "confused" not in html
    text = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", html.partition("<body")[2], flags=re.DOTALL)
    for wrong in ("class", "accuracy"):
        assert wrong not in text, text[max(0, text.find(wrong) - 90) : text.find(wrong) + 60]


def test_programs_are_told_what_the_numbers_are(checked):
    result = checked.to_dict()
    assert result["question"]["task"] == "regression"
    assert result["explained"] == checked.accuracy
    assert result["prediction"]["group_explained"] == checked.prediction.class_score.tolist()
    assert result["prediction"]["group_error"] == checked.prediction.class_error.tolist()
    assert result["question"]["group_names"][0] == "lowest fifth"
    trained = [None if value != value else value for value in checked.check.class_accuracy.tolist()]
    assert result["check"]["group_explained"] == trained
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
        float(checked.class_accuracy.min()), float(checked.check.class_accuracy.nan_to_num().min()), 0.0
    )
    bars = classes_figure(checked).axes[0]
    assert bars.get_ylim()[0] <= max(low, -1.0)
    far = replace(checked.prediction, class_accuracy=checked.prediction.class_accuracy - 5, full=None)
    below = replace(checked, prediction=far, pilot=None, check=None)
    assert "do worse than predicting the mean on" in below.verdict
    assert "interval below 0%, target" in below.verdict
    cut = classes_figure(below).axes[0]
    assert cut.get_ylim()[0] == pytest.approx(-1.03)
    assert cut.get_ylabel() == "variation explained (cut at -1)"
    table = torch.full((5, 4), 0.5)
    table[0, 0], table[1, 1] = -0.4, float("nan")
    [image] = table_figure(checked, table, table > 1).axes[0].images
    assert image.get_clim() == (pytest.approx(-0.4), 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": lambda: number_net(2)}, "has 2 outputs, the data has 1 numbers to predict"),
        ({"missing": {7: [0]}}, "group 7 is not in the data"),
        ({"missing": {}}, "at least one group"),
        ({"missing": {1: [0, 1, 2, 3]}}, "every transformation of group second fifth is missing"),
        ({"options": kernel_only(per_class=99)}, "has 6 (items|samples), not 99"),
        ({"data": spots(items=3)}, "expected 4 samples or more"),
        ({"action": custom_action(cyclic(2), lambda g, x: -x if g else x, 3)}, "moves samples with 3 axes"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(arguments, message):
    given = {"model": number_net, "data": spots(), "action": "C4"} | arguments
    with pytest.raises(InputError, match=message):
        forecast(**({"options": FEW} | given))


def test_draws_of_one_number_are_refused():
    data = spots(items=40)
    targets = torch.zeros(40, dtype=torch.float64)
    targets[7] = 1.0
    lonely = MeasuredData(data.x, targets, "lonely", "tests")
    with pytest.raises(InputError, match="samples drawn all have the same numbers"):
        forecast(number_net, lonely, "C4", options=kernel_only(per_class=1, resamples=3))
