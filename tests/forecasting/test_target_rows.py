"""Targets that change with the sample: against dense regression, trainings by hand, and what is refused."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from symscope import forecast
from symscope.data import MeasuredData, custom_action, rotation
from symscope.data.vectors import linear_action
from symscope.errors import InputError
from symscope.forecasting import ForecastOptions, forecast_page
from symscope.forecasting._cases_figure import cases_figure
from symscope.forecasting._cautions import label_cautions
from symscope.forecasting._kernel_prediction import dense_prediction, resample_prediction
from symscope.forecasting._question import as_question
from symscope.forecasting._resample import Resample, draw_resample
from symscope.forecasting._sample_split import forecast_samples
from symscope.forecasting._target_rows import suggested_target
from symscope.forecasting._targets import grouped
from symscope.groups import cyclic, irreps, permutation
from symscope.spectral import profile_gram
from tests.forecasting.problems import arrow_net, arrows, kernel_only, own_turn
from tests.spectral.orbit_problems import GROUPS, random_missing, random_profile

EXACT = 1e-10  # forecasts against dense regression, in float64


def turns(vectors, k):
    """Vectors turned by k quarter turns, counterclockwise."""
    angle = k * math.pi / 2
    turn = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    return vectors @ turn.double().T


@settings(max_examples=25, deadline=None)
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


@pytest.mark.parametrize("given_as", ["vector", "function", "action", "representation"])
def test_the_orbit_of_targets_is_the_one_that_was_said(given_as):
    data = arrows(items=12)
    matrices = torch.stack([turns(torch.eye(2).double(), k).T for k in range(4)])
    said = {
        "vector": "vector",
        "function": own_turn,
        "action": custom_action(cyclic(4), own_turn, 1, "own"),
        "representation": _representation(matrices),
    }[given_as]
    question = as_question(data, "C4", target_action=said)
    for k in range(4):
        assert torch.allclose(question.targets.values[:, k], turns(data.targets, k), atol=1e-12)
    standard = question.targets.standardised
    for k in range(4):  # standardised numbers transform as the numbers do
        assert torch.allclose(standard[:, k], turns(standard[:, 0], k), atol=1e-12)
    assert float(standard.square().mean()) == pytest.approx(1.0)
    assert question.class_names[0] == "smallest fifth"
    sizes = data.targets.norm(dim=1)
    assert float(sizes[question.data.labels == 0].max()) <= float(sizes[question.data.labels == 4].min())
    samples = forecast_samples(question, 0)
    assert torch.allclose(samples.known.wanted.double(), standard[samples.known.indices], atol=1e-6)
    # what moves outputs back undoes the action
    back = samples.moved_back(samples.known.wanted.double())
    assert torch.allclose(back, back[:, :1].expand_as(back), atol=1e-6)


def _representation(matrices):
    from symscope.groups import Representation

    return Representation(cyclic(4), 2, "turn", lambda g, x: x @ matrices[g].T)


def test_targets_of_samples_that_the_data_holds_turned_are_counted_from_the_upright():
    data = arrows(items=12)
    elements = [k % 4 for k in range(12)]
    turned = torch.stack([torch.rot90(x, k, (-2, -1)) for x, k in zip(data.x, elements, strict=True)])
    y = torch.stack([turns(v[None], k)[0] for v, k in zip(data.targets, elements, strict=True)])
    held = MeasuredData(turned, y, "held", "tests")
    angles = [f"{90 * k}" for k in elements]
    question = as_question(held, "C4", elements=angles, target_action="vector")
    for k in range(4):
        assert torch.allclose(question.targets.values[:, k], turns(data.targets, k), atol=1e-12)


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


def test_vectors_and_maps_without_a_word_get_a_question():
    data = arrows(items=12)
    with pytest.raises(InputError, match=r"--target-action vector, same or .*The data cannot tell"):
        as_question(data, "C4")
    with pytest.raises(InputError, match="--target-action image, same or"):
        as_question(MeasuredData(data.x, data.x, "maps", "tests"), "C4")
    assert as_question(MeasuredData(data.x, data.targets[:, 0], "one", "tests"), "C4").target_action is None


def test_the_data_suggests_what_its_targets_do():
    data = arrows(items=400, seed=1)  # spots are everywhere: turned samples look like the data
    assert "suggests vector" in suggested_target(data, rotation(4), "vector")
    sizes = data.targets.norm(dim=1)
    still = MeasuredData(data.x, torch.stack([sizes, sizes.square()], 1), "still", "tests")
    assert "suggests same" in suggested_target(still, rotation(4), "vector")


def doubled(g, y):
    """No representation of C4: twice the size for every element but the identity."""
    return 2 * y if g else y


def shifted(g, y):
    """Not linear."""
    return y + g


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (doubled, "target action doubled is no representation of C4"),
        (shifted, "target action shifted: expected a linear map"),
        (rotation(8), "expected an action of C4"),
        (permutation(cyclic(8)), "it acts on 8 numbers"),
        (2 * permutation(cyclic(1)), "expected an action of C4"),
        ("image", "expected outputs with 2 axes"),
        ("vectr", "vector"),
    ],
)
def test_what_is_no_target_action_is_refused_in_one_line(said, message):
    with pytest.raises(InputError, match=message) as caught:
        as_question(arrows(items=12), "C4", target_action=said)
    assert "\n" not in str(caught.value)


def test_targets_of_the_wrong_shape_and_classes_are_refused():
    data = arrows(items=12)
    three = MeasuredData(data.x, torch.rand(12, 3).double(), "three", "tests")
    with pytest.raises(InputError, match="last axis has length 2, x and y, or 3 for points"):
        as_question(three, "C4", target_action="vector")
    labelled, _ = grouped(MeasuredData(data.x, data.targets[:, 0], "one", "tests"))
    with pytest.raises(InputError, match="has classes, which no transformation changes"):
        as_question(labelled, "C4", target_action="vector")


def test_a_sample_that_an_element_keeps_while_it_changes_the_target_is_refused():
    data = arrows(items=12)
    x = data.x.clone()
    x[3] = x[3] + torch.rot90(x[3], 2, (-2, -1))
    question = as_question(MeasuredData(x, data.targets, "kept", "tests"), "C4", target_action="vector")
    with pytest.raises(InputError, match="sample 3 is the same under 180°, which changes its target"):
        forecast_samples(question, 0)


@pytest.fixture(scope="module")
def trained():
    options = ForecastOptions(budget=8, per_class=3, resamples=1)
    return forecast(
        arrow_net,
        arrows(items=150, right=True),
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
    from symscope.forecasting._designs import interleaved_designs
    from symscope.forecasting._trained_answer import DesignTrainer
    from symscope.networks import arrange_inputs

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


def turned_back(g, y):
    """C4 on vectors, the other way round."""
    return own_turn(-g % 4, y)


@pytest.mark.parametrize(
    ("said", "word"), [("vector", None), ("same", "stay the same"), (turned_back, "turned")]
)
def test_what_was_said_of_targets_is_tried_on_the_data(said, word):
    question = as_question(arrows(items=400, seed=1), "C4", target_action=said)
    whole, part = label_cautions(forecast_samples(question, 0), question)
    if word is None:
        assert (whole, part) == ((), ())
    else:
        [caution] = whole
        assert word in caution
        assert "left out of the price list" in caution


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
    few = kernel_only(per_class=2, resamples=1)
    result = forecast(pooled, data, "C7 shift-x", target_action=_sevenths(), options=few)
    assert any("cannot change with the sample as the targets do" in one for one in result.cautions)


def _sevenths():
    from symscope.groups import Representation

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
