"""Training beside the forecast: against a plain training loop, and what it refuses."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from symscope.errors import InputError
from symscope.forecasting import Training, forecast, forecast_page
from symscope.forecasting._check import outcome
from symscope.forecasting._question import as_problem, drawn
from symscope.networks import user_model
from symscope.training import Optimiser
from tests.forecasting.problems import blobs, small_net


def problem_and_draw(per_class=3):
    problem = as_problem(blobs(items=6), "C4")
    return problem, drawn(problem, per_class, 0)


def test_each_network_is_trained_without_its_class_s_missing_points():
    problem, draw = problem_and_draw()
    model = user_model(small_net, (6, 6), 3)
    settings = Training(epochs=60, batch=36, optimiser=Optimiser("sgd", 0.3))
    found, first = outcome(model, draw, problem.group, None, settings, seed=4)
    # the first class by hand: full-batch gradient descent on what is seen
    seen = torch.ones(9, 4, dtype=torch.bool)
    seen[:3, 0] = False
    net = model.builder(4).float().train()
    steps = torch.optim.SGD(net.parameters(), lr=0.3)
    x, y = draw.points[seen].flatten(1).float(), draw.labels[:, None].expand(9, 4)[seen]
    for _ in range(60):
        steps.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        steps.step()
    with torch.no_grad():
        mine = net(draw.points[:3, 0].flatten(1).float())
        theirs = first(draw.points[:3, 0].flatten(1))
    assert torch.allclose(mine.double(), theirs, atol=1e-4)
    assert found.class_accuracy[0] == (mine.argmax(1) == 0).double().mean()
    assert bool((found.seen_accuracy == 1).all())
    assert found.noise_floor == float((found.class_accuracy - found.second_accuracy).abs().mean())


def test_a_forecast_stands_beside_its_outcome():
    found = forecast(
        small_net, blobs(items=6), "C4", per_class=4, draws=2, train=Training(epochs=40, kernels=1)
    )
    there = found.outcome
    assert there is not None
    assert there.class_accuracy.shape == (3,)
    assert 0 < there.moved < 1
    assert int((~there.refit_accuracy.isnan()).sum()) == 1
    assert found.equivariance_after is not None
    assert found.equivariance_after.asymmetry != found.equivariance.asymmetry


def test_named_cases_are_one_training():
    found = forecast(
        small_net, blobs(items=6), "C4", missing={0: [1], 2: [0, 3]}, per_class=4, draws=1,
        train=Training(epochs=30, kernels=0),
    )  # fmt: skip
    there = found.outcome
    assert there is not None
    assert len(there.seen_accuracy) == 1
    assert there.class_accuracy.isnan().tolist() == [False, True, False]
    assert math.isnan(there.moved)


def test_convolutions_are_trained_for_some_classes_one_by_one():
    conv = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
    seen = []
    found = forecast(
        conv, blobs(items=4), "C4", per_class=2, draws=1, train=Training(epochs=3, sets=2, kernels=0),
        progress=lambda what, done, total: seen.append((done, total)),
    )  # fmt: skip
    assert found.outcome.class_accuracy.isnan().tolist() == [False, True, False]
    assert seen[0] == (1, 12)
    assert seen[-1] == (12, 12)


def test_networks_with_batch_norm_are_trained_one_by_one():
    normed = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
    found = forecast(normed, blobs(), "C4", per_class=2, draws=1, train=Training(epochs=150, kernels=1))
    assert not found.outcome.settings.together
    assert float(found.outcome.seen_accuracy.min()) == 1.0
    assert found.outcome.moved > 0.01


def test_what_cannot_be_trained_is_refused():
    with pytest.raises(InputError, match=r"the loss is (nan|inf)"):
        forecast(
            small_net, blobs(), "C4", per_class=2, draws=1,
            train=Training(epochs=30, optimiser=Optimiser("sgd", 1e30)),
        )  # fmt: skip
    with pytest.raises(InputError, match="epochs"):
        Training(epochs=0)
    with pytest.raises(InputError, match="kernels"):
        Training(kernels=-1)
    with pytest.raises(InputError, match="pilot_epochs: expected 0 or more"):
        forecast(small_net, blobs(), "C4", pilot_epochs=-1)


def test_optimisers_that_have_not_learned_are_named():
    slow = Training(epochs=20, optimiser=Optimiser("adam", 3e-2), other=Optimiser("sgd", 1e-6), kernels=0)
    found = forecast(small_net, blobs(items=6), "C4", per_class=3, draws=1, train=slow)
    assert found.outcome.unlearned == ("sgd at 1e-06",)
    assert "With sgd at 1e-06 the network has not learned" in forecast_page(found)
