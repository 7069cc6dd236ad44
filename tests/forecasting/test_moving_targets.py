"""Forecasts of targets that change with the sample: against dense regression and by hand."""

from __future__ import annotations

import io
import math
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from symscope import forecast
from symscope.data import MeasuredData
from symscope.data.vectors import linear_action
from symscope.forecasting import ForecastOptions, forecast_page
from symscope.forecasting._cases_figure import cases_figure
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._designs import interleaved_designs, true_designs
from symscope.forecasting._full_kernel import full_kernel_prediction
from symscope.forecasting._kernel_choice import tangent_kernel
from symscope.forecasting._kernel_prediction import dense_prediction, resample_prediction
from symscope.forecasting._question import as_question
from symscope.forecasting._resample import Resample, draw_resample
from symscope.forecasting._sample_split import forecast_samples, orbit_points
from symscope.forecasting._stored_answer import answer_from_plain
from symscope.forecasting._targets import grouped
from symscope.forecasting._training_task import Training
from symscope.forecasting._worker_task import WorkerTask, pickled_work, run_work, saved_samples
from symscope.groups import Representation, cyclic, irreps, permutation
from symscope.networks import arrange_inputs, user_model
from symscope.spectral import profile_gram
from symscope.training import Optimiser, StepPlan
from tests.forecasting.problems import arrow_net, arrows, kernel_only
from tests.spectral.orbit_problems import GROUPS, random_missing, random_profile

EXACT = 1e-10  # forecasts against dense regression, in float64


def turns(vectors, k):
    """Vectors turned by k quarter turns, counterclockwise."""
    angle = k * math.pi / 2
    turn = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    return vectors @ turn.double().T


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(["C2", "C5", "C8", "D3", "S3", "D5", "Q8"]), st.integers(4, 6), st.integers(0, 999))
def test_kernel_predictions_are_those_of_dense_regression(name, m, seed):
    """Random groups, representations, kernels and missing points, from the raw targets."""
    group = GROUPS[name]()
    real = [one for one in irreps(group) if not one(group.identity).is_complex() and not _complex(one)]
    chosen = [permutation(group), *real][seed % (1 + len(real))]
    y = torch.randn(m, chosen.dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    rows = linear_action(chosen)
    data, targets = grouped(MeasuredData(torch.rand(m, 3).double(), y, "made", "tests"), rows)
    gram = profile_gram(random_profile(group, m, seed), group)
    missing = random_missing(group, m, seed)
    points = torch.rand(m, group.order, 3).double()
    resample = Resample(points, points, data.labels, None, torch.arange(m), targets)
    found = resample_prediction(gram, resample, group, missing[None])
    moved = torch.stack([y @ chosen(g).T for g in group.elements], 1)
    mean = moved.mean((0, 1))
    scale = (moved - mean).square().mean().sqrt()
    wanted = ((moved - mean) / scale).flatten(0, 1)
    gone, there = missing.flatten(), ~missing.flatten()
    solved = torch.linalg.solve(gram[there][:, there], wanted[there])
    expected = gram[gone][:, there] @ solved
    scale_of = max(1.0, float(expected.abs().max()))
    order = found.samples * group.order + found.elements
    at = torch.searchsorted(gone.nonzero()[:, 0], order)
    assert float((found.prediction - expected[at]).abs().max()) < EXACT * scale_of
    assert torch.allclose(dense_prediction(gram, resample, missing, 0.0), expected, atol=EXACT * scale_of)
    variance = (wanted - wanted.mean(0)).square().sum(1).mean()
    scores = 1 - (expected - wanted[gone]).square().sum(1) / variance
    for c in data.labels[found.samples].unique().tolist():
        own = data.labels[found.samples] == c
        assert float(found.accuracy[c]) == pytest.approx(float(scores[at][own].mean()), abs=1e-8)
        apart = ((expected - wanted[gone]) * scale)[at][own]
        error = float(apart.square().sum(1).mean().sqrt())
        assert float(found.error[c]) == pytest.approx(error, rel=1e-6, abs=1e-9)


def _complex(representation):
    return any(representation(g).is_complex() for g in representation.group.elements)


def test_maps_move_as_the_samples_do():
    data = arrows(items=10)
    maps = MeasuredData(data.x, data.x.square(), "maps", "tests")
    question = as_question(maps, "D4", target_action="image")
    resample = draw_resample(question, 2, 0)
    moved = question.action.orbit(data.x[resample.indices]).square()
    assert torch.allclose(resample.targets.values, moved.flatten(2), atol=1e-12)
    assert question.target_shape == (7, 7)
    net = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.ReLU(), nn.Conv2d(3, 1, 3, padding=1))
    result = forecast(net, maps, "D4", target_action="image", options=kernel_only(per_class=2, resamples=1))
    assert result.question.outputs == result.model.outputs == 49
    assert "matrix" in result.prediction.kernel_reason


def test_a_linear_network_on_positions_is_exact():
    """The target is a linear function of the pixels that commutes with turns: nothing is lost."""
    generator = torch.Generator().manual_seed(3)
    x = torch.rand(60, 4, 4, generator=generator, dtype=torch.float64)
    grid = torch.arange(4).double() - 1.5
    y = torch.stack([(x * grid).sum((1, 2)), -(x * grid[:, None]).sum((1, 2))], 1)
    data = MeasuredData(x, y, "centres", "tests")
    options = kernel_only(per_class=8, resamples=1, standardise=False)
    net = nn.Sequential(nn.Flatten(), nn.Linear(16, 2))
    right = forecast(net, data, "C4", target_action="vector", options=options)
    assert right.prediction.accuracy > 0.9999
    assert forecast(net, data, "C4", target_action="same", options=options).prediction.accuracy < 0.9


@pytest.mark.parametrize("group", ["C4", "O", "Th"])
def test_vectors_of_points_turn_as_the_points_do(group):
    """The target is the first point: what moves the cloud moves it."""
    x = torch.rand(12, 5, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    data = MeasuredData(x, x[:, 0], "clouds", "tests")
    question = as_question(data, f"{group} points", target_action="vector")
    assert torch.allclose(question.targets.values, question.action.orbit(x)[:, :, 0], atol=1e-12)
    options = kernel_only(per_class=2, resamples=1)
    linear = nn.Sequential(nn.Flatten(), nn.Linear(15, 3, bias=False))
    result = forecast(linear, data, f"{group} points", target_action="vector", options=options)
    assert result.prediction.accuracy > 0.95


def test_a_sample_that_an_element_keeps_with_its_target_counts_once():
    """A target that a half turn keeps, to the digits of float32, on a sample that it keeps."""
    data = arrows(items=24)
    x, y = data.x.clone(), data.targets.clone()
    x[3], y[3] = x[3] + torch.rot90(x[3], 2, (-2, -1)), torch.tensor([1e-8, 0.0])
    kept = MeasuredData(x, y, "kept", "tests")
    few = kernel_only(per_class=4, resamples=1)
    result = forecast(arrow_net, kept, "C4", target_action="vector", options=few)
    assert result.prediction.full is not None
    whole = forecast_samples(result.question, 0)
    [at] = (whole.known.indices == 3).nonzero()[:, 0].tolist()
    assert torch.equal(whole.known.wanted[at, 0], whole.known.wanted[at, 2])


def test_maps_of_several_classes_get_a_caution():
    data, few = arrows(items=12), kernel_only(per_class=2, resamples=1)
    maps = MeasuredData(data.x, (3 * data.x).round(), "masks", "tests")
    result = forecast("mlp", maps, "C4", target_action="image", options=few)
    assert any("give a channel for each" in one for one in result.cautions)


@pytest.mark.parametrize("seen", [None, "upright", "largest fifth: 90°, 180°"])
def test_regression_on_all_samples_is_dense_regression(seen):
    question = as_question(arrows(items=40), "C4", target_action="vector", seen=seen)
    samples = forecast_samples(question, seed=2)
    model = user_model(arrow_net, (7, 7), 2)
    tangent = tangent_kernel(model, (7, 7))
    found = full_kernel_prediction(tangent, question, samples, 0.0, 1e9, torch.device("cpu"))
    known, new = (orbit_points(question, question.data, one.indices) for one in (samples.known, samples.new))
    design = true_designs(samples, question.group)[-1]
    at = design.seen.flatten()
    kernel, train = tangent.kernel(0), known.flatten(0, 1)[at]
    weights = torch.linalg.solve(kernel(train), samples.known.wanted.flatten(0, 1)[at])
    outputs = (kernel(new.flatten(0, 1), train) @ weights).unflatten(0, (-1, 4))
    for c, g in design.missing.nonzero().tolist():
        own = samples.new.positions == c
        scores = samples.scores(outputs[own, g], samples.new.wanted[own, g])
        assert float(found.new.mean[c, g]) == pytest.approx(float(scores.mean()), abs=1e-7)


def test_a_worker_gives_the_same_answer():
    question = as_question(arrows(items=40), "C4", target_action="vector", seen="upright")
    samples = forecast_samples(question, 0)
    trainer = DesignTrainer(user_model(arrow_net, (7, 7), 2), samples, torch.device("cpu"))
    [design] = true_designs(samples, question.group)
    one = Training(trainer, design, StepPlan(5, 16, Optimiser("adam", 1e-3)), 0)
    saved = io.BytesIO()
    torch.save(saved_samples(samples), saved)
    task = WorkerTask(
        one.identity("samples"), 1, "cpu", pickled_work(one), saved.getvalue(), (), str(Path.cwd())
    )
    record = run_work(task)
    assert record["status"] == "done"
    here, there = one.run(), answer_from_plain(record["tables"], samples)
    assert torch.equal(here.averaged.total, there.averaged.total)
    assert torch.equal(here.new.total, there.new.total)
    assert here.asymmetry == there.asymmetry


@pytest.fixture(scope="module")
def trained():
    options = ForecastOptions(budget=4, per_class=3, resamples=1)
    return forecast(
        arrow_net,
        arrows(items=100, right=True),
        "C4",
        target_action="vector",
        seen="upright",
        steps=400,
        batch=32,
        options=options,
    )


def test_averaging_is_exact_and_augmentation_helps(trained):
    """Seen upright only, a network cannot know the other turns; with targets turned too, it learns them."""
    by_kind = {one.kind: one for one in trained.advice}
    assert trained.pilot.headline.mean < 0.5
    assert by_kind["augment"].accuracy > trained.pilot.headline.mean + 0.2
    assert "its target moved with it" in by_kind["augment"].text
    assert "moved back" in by_kind["average"].text
    assert "equivariant under C4" in by_kind["build in"].text
    assert not any("invariant read-out" in one.text for one in trained.advice)


def test_averaged_outputs_are_moved_back_first(trained):
    question, samples = trained.question, forecast_samples(trained.question, 0)
    trainer = DesignTrainer(trained.model, samples, torch.device("cpu"))
    [design] = interleaved_designs(samples, question.group)
    module = trained.model.builder(5).float()
    answer = trainer.evaluate(module, design, 1)
    new = samples.new
    with torch.no_grad():
        out = module(arrange_inputs(new.points.flatten(0, 1), trained.model.layout)).double()
    out = out.unflatten(0, (-1, 4))
    mean = torch.stack([turns(out[:, k], -k) for k in range(4)]).mean(0)
    scores = 1 - (mean - new.wanted[:, 0].double()).square().sum(1) / samples.variance
    for c in range(samples.classes):
        expected = float(scores[new.positions == c].mean())
        assert answer.averaged.mean[c, 1:].tolist() == pytest.approx([expected] * 3, abs=1e-5)
    lacks = answer.new.mean[:, 2]
    direct = 1 - (out[:, 2] - turns(new.wanted[:, 0].double(), 2)).square().sum(1) / samples.variance
    for c in range(samples.classes):
        assert float(lacks[c]) == pytest.approx(float(direct[new.positions == c].mean()), abs=1e-5)


def test_layers_are_measured_against_the_target_s_action(trained):
    assert trained.equivariance.whole.target == "equivariant"
    assert [one.layer for one in trained.equivariance.layers] == []  # nothing is known of hidden rows
    linear = nn.Sequential(nn.Flatten(), nn.Linear(49, 2))
    grid = torch.arange(7).double() - 3
    weights = torch.stack([grid.expand(7, 7).flatten(), -grid[:, None].expand(7, 7).flatten()])

    def build():
        net = nn.Sequential(nn.Flatten(), nn.Linear(49, 2))
        with torch.no_grad():
            net[1].weight.copy_(weights)
            net[1].bias.zero_()
        return net

    data = arrows(items=20)
    exact = forecast(build, data, "C4", target_action="vector", options=kernel_only(per_class=2, resamples=1))
    assert exact.equivariance.whole.model < 1e-12
    assert exact.equivariance.asymmetry < 1e-12
    plain = forecast(
        linear, data, "C4", target_action="vector", options=kernel_only(per_class=2, resamples=1)
    )
    assert plain.equivariance.whole.model > 0.1


def test_vectors_and_outlines_are_drawn():
    data, few = arrows(items=12), kernel_only(per_class=2, resamples=1)
    figure = cases_figure(forecast(arrow_net, data, "C4", target_action="vector", options=few))
    shown = [axes for axes in figure.axes if axes.get_title()]
    assert shown
    assert all(
        sum(one.arrow_patch is not None for one in axes.texts if hasattr(one, "arrow_patch")) == 2
        for axes in shown
    )
    maps = MeasuredData(data.x, (data.x > 0.4).double(), "masks", "tests")
    net = nn.Sequential(nn.Flatten(), nn.Linear(49, 30), nn.ReLU(), nn.Linear(30, 49))
    figure = cases_figure(forecast(net, maps, "C4", target_action="image", options=few))
    assert any(axes.collections for axes in figure.axes)


def test_an_invariant_network_is_warned_of():
    pooled = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1, padding_mode="circular"), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(4, 2),
    )  # fmt: skip
    data = arrows(items=20)
    few = kernel_only(per_class=2, resamples=1, kernel="finite")
    result = forecast(pooled, data, "C7 shift-x", target_action=_sevenths(), options=few)
    assert any("cannot change with the sample as the targets do" in one for one in result.cautions)


def _sevenths():
    def turn(g, x):
        angle = 2 * math.pi * g / 7
        return torch.stack(
            [
                math.cos(angle) * x[..., 0] - math.sin(angle) * x[..., 1],
                math.sin(angle) * x[..., 0] + math.cos(angle) * x[..., 1],
            ],
            -1,
        )

    return Representation(cyclic(7), 2, "turn", turn)


def test_words_and_numbers_for_programs(trained):
    data, samples = trained.to_dict(), forecast_samples(trained.question, 0)
    assert data["question"]["target_action"] == "vector"
    known = trained.question.targets.values[samples.known.indices].flatten(0, 1)
    spread = (known - known.mean(0)).square().sum(1).mean()
    assert trained.error == pytest.approx(math.sqrt((1 - trained.accuracy) * float(spread)))
    assert data["error"] == trained.error
    assert f"error {trained.error:.3g} in units of the targets" in trained.verdict
    page = forecast_page(trained)
    for words in ("move: vector", "smallest fifth", "ρ(g) f(x)", "moved back", "multiple of the identity"):
        assert words in page
