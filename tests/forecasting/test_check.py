"""Training beside the forecast: against a plain training loop, and what it refuses."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from symscope.errors import InputError
from symscope.forecasting import CheckOptions, ForecastOptions, forecast, forecast_page
from symscope.forecasting._check import training_check
from symscope.forecasting._question import as_question
from symscope.forecasting._resample import draw_resample
from symscope.networks import user_model
from symscope.training import Optimiser
from tests.forecasting.problems import FEW, blobs, small_net


def problem_and_draw(per_class=3):
    question = as_question(blobs(items=6), "C4")
    return question, draw_resample(question, per_class, 0)


def test_each_network_is_trained_without_its_class_s_missing_points():
    question, resample = problem_and_draw()
    model = user_model(small_net, (6, 6), 3)
    settings = CheckOptions(epochs=60, batch=36, optimiser=Optimiser("sgd", 0.3))
    result, first = training_check(model, question, resample, settings, ForecastOptions(seed=4))
    # the first class by hand: full-batch gradient descent on what is seen
    seen = torch.ones(9, 4, dtype=torch.bool)
    seen[:3, 0] = False
    net = model.builder(4).float().train()
    steps = torch.optim.SGD(net.parameters(), lr=0.3)
    x, y = resample.points[seen].flatten(1).float(), resample.labels[:, None].expand(9, 4)[seen]
    for _ in range(60):
        steps.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        steps.step()
    with torch.no_grad():
        mine = net(resample.points[:3, 0].flatten(1).float())
        theirs = first(resample.points[:3, 0].flatten(1))
    assert torch.allclose(mine.double(), theirs, atol=1e-4)
    assert result.class_accuracy[0] == (mine.argmax(1) == 0).double().mean()
    assert bool((result.seen_accuracy == 1).all())
    assert result.noise_floor == float((result.class_accuracy - result.second_accuracy).abs().mean())


def test_a_forecast_stands_beside_its_outcome():
    result = forecast(
        small_net,
        blobs(items=6),
        "C4",
        train=CheckOptions(epochs=40, kernel_classes=1),
        options=ForecastOptions(per_class=4, resamples=2),
    )
    there = result.check
    assert there is not None
    assert there.class_accuracy.shape == (3,)
    assert 0 < there.kernel_change < 1
    assert int((~there.refit_accuracy.isnan()).sum()) == 1
    assert result.check.equivariance is not None
    assert result.check.equivariance.asymmetry != result.prediction.equivariance.asymmetry


def test_named_cases_are_one_training():
    result = forecast(
        small_net,
        blobs(items=6),
        "C4",
        missing={0: [1], 2: [0, 3]},
        train=CheckOptions(epochs=30, kernel_classes=0),
        options=ForecastOptions(per_class=4, resamples=1),
    )
    there = result.check
    assert there is not None
    assert len(there.seen_accuracy) == 1
    assert there.class_accuracy.isnan().tolist() == [False, True, False]
    assert math.isnan(there.kernel_change)


def test_convolutions_are_trained_for_some_classes_one_by_one():
    conv = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
    seen = []
    settings = CheckOptions(epochs=3, max_classes=2, kernel_classes=0)
    result = forecast(
        conv,
        blobs(items=4),
        "C4",
        train=settings,
        options=FEW,
        progress=lambda words, done, total: seen.append((done, total)) if total else None,
    )
    assert result.check.class_accuracy.isnan().tolist() == [False, True, False]
    assert seen[0] == (1, 12)
    assert seen[-1] == (12, 12)


def test_networks_with_batch_norm_are_trained_one_by_one():
    normed = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
    result = forecast(
        normed,
        blobs(),
        "C4",
        train=CheckOptions(epochs=150, kernel_classes=1),
        options=FEW,
    )
    assert not result.check.plan.batched
    assert float(result.check.seen_accuracy.min()) == 1.0
    assert result.check.kernel_change > 0.01


def test_what_cannot_be_trained_is_refused():
    settings = CheckOptions(epochs=30, optimiser=Optimiser("sgd", 1e30))
    with pytest.raises(InputError, match=r"the loss is (nan|inf)"):
        forecast(small_net, blobs(), "C4", train=settings, options=FEW)
    with pytest.raises(InputError, match="epochs"):
        CheckOptions(epochs=0)
    with pytest.raises(InputError, match="kernel_classes"):
        CheckOptions(kernel_classes=-1)
    with pytest.raises(InputError, match="pilot_epochs: expected an integer from 0"):
        ForecastOptions(pilot_epochs=-1)


def test_optimisers_that_have_not_learned_are_named():
    slow = CheckOptions(
        epochs=20,
        optimiser=Optimiser("adam", 3e-2),
        second_optimiser=Optimiser("sgd", 1e-6),
        kernel_classes=0,
    )
    result = forecast(
        small_net, blobs(items=6), "C4", train=slow, options=ForecastOptions(per_class=3, resamples=1)
    )
    assert result.check.underfit_optimisers == ("sgd at 1e-06",)
    assert "With sgd at 1e-06 the network has not learned its training data" in forecast_page(result)
