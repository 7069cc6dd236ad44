"""`forecast/quality`: a tiny run of it, its numbers against plain ways, and settings that are refused."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.forecasting import ForecastOptions, forecast
from symscope.forecasting.methods import draw_resample
from symscope.kernels import empirical_ntk
from symscope.networks import user_model
from symscope.runs import RunRequest, Workers, run_experiments
from symscope.runs._registry import find_experiment
from symscope.training import Optimiser
from symscope_papers.forecast.quality.config import Quality
from symscope_papers.forecast.quality.data import quality_question
from symscope_papers.forecast.quality.left_out_case import LeaveOutCase, train_left_out
from symscope_papers.forecast.quality.measure import cells
from symscope_papers.forecast.quality.networks import network
from symscope_papers.forecast.quality.scores import with_combined
from symscope_papers.forecast.quality.variants import calibrate_forecast, variant_names

TINY = (
    "datasets=points",
    "point_actions=C8",
    "networks=mlp-1",
    "classes=3",
    "left_out=2",
    "per_class=2",
    "draws=2",
    "repeats=2",
    "kernel_repeats=1",
    "pilots=1,3",
    "steps=30",
    "batch=24",
    "logistic_steps=20",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    wanted = RunRequest.of("forecast/quality", changes=TINY, seed=1, device="cpu")
    [outcome] = run_experiments([wanted], tmp_path_factory.mktemp("runs"), Workers(processes=0))
    return outcome, outcome.tables(), wanted.config


def test_a_tiny_run_is_complete(made):
    outcome, tables, config = made
    assert (outcome.failed, outcome.problems) == (0, ())
    forecasts = tables["forecasts"]
    named = set(variant_names(config.pilots))
    assert set(forecasts["variant"]) == {name for name in named if not name.startswith("combined")}
    assert set(with_combined(tables)["forecasts"]["variant"]) == named
    assert forecasts.groupby(["network", "variant"]).size().eq(2).all()
    assert forecasts["accuracy"].between(0, 1).all()
    inside = (forecasts["low"] <= forecasts["accuracy"] + 1e-9) & (
        forecasts["accuracy"] <= forecasts["high"] + 1e-9
    )
    assert inside.all()
    assert len(tables["trainings"]) == 3 * 2 * 2  # trainings, repeats, classes
    assert set(tables["refits"]["label"]) == {0, 2}
    names = {path.stem for path in (outcome.folder / "figures").glob("*.png")}
    assert names == {"scatter", "variants", "where", "coverage", "overshoot"}


def test_architecture_draws_is_what_the_forecast_says(made):
    _, tables, _ = made
    asked = quality_question("points", "C8", 3, "sample", seed=1)
    result = forecast(
        network("mlp-1", (8, 2), 3),
        asked.data,
        asked.action,
        options=ForecastOptions(method="kernel", per_class=2, resamples=2, seed=1),
    )
    mine = tables["forecasts"].query("network == 'mlp-1' and variant == 'architecture-draws'")
    expected = result.prediction.class_accuracy.mean(0)[[0, 2]]
    assert mine.sort_values("label")["accuracy"].tolist() == pytest.approx(expected.tolist())


def small_task(device="cpu"):
    asked = quality_question("points", "C8", 3, "sample", seed=4)
    model = user_model(network("mlp-1", (8, 2), 3), (8, 2), 3, name="mlp-1")
    return LeaveOutCase(model, draw_resample(asked, 2, 4), asked.group, (0, 2), (5, 6), torch.device(device))


def test_missing_points_are_the_untransformed_items_of_the_left_out_class():
    task = small_task()
    labels, upright = task.draw.labels.repeat_interleave(8), torch.arange(48) % 8 == 0
    assert torch.equal(task.hidden, torch.stack([upright & (labels == c) for c in (0, 2)]))


def test_regression_leaves_points_out_as_solving_for_the_rest_does():
    task = small_task()
    module = task.model.builder(9)
    gram = task.kernel(module)
    torch.testing.assert_close(gram, empirical_ntk(module)(task.inputs))
    result = task.regressed(gram, [1])
    hidden, ridge = task.hidden[1], 1e-6 * float(gram.diagonal().mean())
    inner = gram[~hidden][:, ~hidden] + ridge * torch.eye(int((~hidden).sum()), dtype=gram.dtype)
    outputs = gram[hidden][:, ~hidden] @ torch.linalg.solve(inner, task.one_hot[~hidden])
    assert float(result) == float((outputs.argmax(1) == 2).double().mean())


def test_a_pilot_is_the_beginning_of_the_training_and_modules_are_found():
    task = small_task()
    how = (16, Optimiser("adam", 1e-3), True)
    together = train_left_out(task, task.model.builder, 2, *how)
    alone = train_left_out(task, task.model.builder, 2, 16, Optimiser("adam", 1e-3), False)
    assert len(together.stacks) == 1
    assert len(alone.stacks) == 4
    for seed, which in ((0, 1), (1, 0)):
        for first, second in zip(
            together.module(seed, which).parameters(), alone.module(seed, which).parameters(), strict=True
        ):
            torch.testing.assert_close(first, second, atol=1e-5, rtol=1e-4)
        net = alone.module(seed, which)
        with torch.no_grad():
            right = net(task.inputs.float()[task.hidden[which]]).argmax(1) == task.left_out[which]
        assert float(right.double().mean()) == float(alone.missing[seed, which])


def test_calibration_never_uses_the_class_it_is_for():
    forecast_, there = torch.tensor([[0.3, 0.5, 0.4]]).double(), torch.tensor([[0.4, 0.7, 0.3]]).double()
    first = calibrate_forecast(forecast_, there, None)
    there[0, 1] = 0.0
    second = calibrate_forecast(forecast_, there, None)
    assert first[0, 1] == second[0, 1]
    assert first[0, 0] != second[0, 0]
    one = calibrate_forecast(forecast_, torch.tensor([[0.4, 0.7, 0.3]]).double(), 1)
    assert one[0].tolist() == pytest.approx([0.3 + 0.2, 0.5 - 0.1, 0.4 + 0.1])
    assert calibrate_forecast(forecast_[:, :1], there[:, :1], 2).isnan().all()


def test_pairs_that_take_long_can_be_left_out():
    asked = Quality(datasets=("mnist", "points"), networks=("mlp-1", "mlp-2"), skipped=("mnist:mlp-2",))
    there = {(cell["dataset"], cell["network"]) for cell in cells(asked)}
    assert there == {("mnist", "mlp-1"), ("points", "mlp-1"), ("points", "mlp-2")}


def test_sets_of_points_are_given_to_mlps_alone():
    result = cells(Quality(datasets=("mnist", "points"), networks=("mlp-1", "vit"), actions=("C4",)))
    assert [tuple(cell.values()) for cell in result] == [
        ("mnist", "C4", "mlp-1"),
        ("mnist", "C4", "vit"),
        ("points", "C8", "mlp-1"),
        ("points", "S4", "mlp-1"),
    ]


def test_the_large_preset_has_every_architecture_group_and_data_set():
    config = find_experiment("forecast/quality").presets["paper"].config
    assert set(config.networks) == {"mlp-1", "mlp-2", "mlp-5", "conv-fc", "conv-gap", "vit"}
    assert set(config.actions) == {"C4", "C8", "C16", "C32", "flip", "shift", "D4"}
    assert set(config.datasets) == {"mnist", "digits", "points"}
    assert config.pilots == (1, 3, 10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("networks=mpl-1", "networks: unknown 'mpl-1'; did you mean 'mlp-1'"),
        ("actions=C4,C4", "actions: expected 1 or more different values"),
        ("per_class=1", "per_class: expected 2 or more"),
        ("kernel_repeats=9", "kernel_repeats: expected numbers from 1 to"),
        ("pilots=3,1", "pilots: expected 1 or more increasing numbers"),
        ("skipped=mnist-14:resnet", "skipped: expected pairs dataset:network"),
        ("pilots=25", "pilots: expected numbers from 1 to 24"),
    ],
)
def test_bad_settings_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        RunRequest.of("forecast/quality", changes=[change])
