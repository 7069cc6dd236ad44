"""A finite network's kernel on many samples: against dense regression with its exact tangent kernel."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.forecasting import ForecastOptions, forecast
from symscope.forecasting._kernel_choice import tangent_kernel
from symscope.forecasting._projected_kernel import NOISE, projected_prediction
from symscope.forecasting._question import as_question
from symscope.forecasting._sample_split import fewer_samples, forecast_samples
from symscope.forecasting._trained_answer import class_scores
from symscope.kernels import empirical_ntk
from symscope.networks import user_model
from tests.forecasting.problems import blobs

CPU = torch.device("cpu")


def pooling_net() -> nn.Module:
    """A network without an infinite-width form: batch norm and max pooling."""
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(54, 3)
    )


@pytest.fixture(scope="module")
def asked():
    question = as_question(blobs(items=20), "C4", seen="0: upright")
    return question, forecast_samples(question, seed=2), user_model(pooling_net, (6, 6), 3)


def test_outputs_are_those_of_the_exact_kernel_to_the_noise_of_the_projection(asked):
    question, samples, model = asked
    tangent = tangent_kernel(model, (6, 6))
    assert tangent.kind == "finite"
    result = projected_prediction(tangent, question, samples, 0.0, 1e9, CPU, seed=3)
    assert result.complete
    assert result.samples == (16, 16)
    module = model.builder(3)
    points = samples.known.points.flatten(0, 1).double()[:, None]
    new = samples.new.points.flatten(0, 1).double()[:, None]
    gram = empirical_ntk(module)(torch.cat([points, new])).detach()
    seen = samples.coverage.seen.flatten()
    own, other = gram[: len(points), : len(points)], gram[len(points) :, : len(points)]
    ridge = NOISE * own.diagonal().mean()
    labels = nn.functional.one_hot(samples.known.positions).double().repeat_interleave(4, 0)
    weights = torch.linalg.solve(own[seen][:, seen] + ridge * torch.eye(int(seen.sum())), labels[seen])
    right = (other[:, seen] @ weights).argmax(1) == samples.new.positions.repeat_interleave(4)
    lacks = (samples.new.positions == 0).repeat_interleave(4) & (torch.arange(len(new)) % 4 != 0)
    assert int(result.new.count.sum()) == int(lacks.sum())
    # a few decisions near the boundary may differ: entries are off by about 2048^-1/2 of the diagonal
    assert abs(float(result.new.total.sum()) - float(right[lacks].sum())) <= 0.2 * int(lacks.sum())


def test_progress_counts_the_points_of_samples_and_new_ones_up_to_all_of_them(asked):
    question, samples, model = asked
    calls = []
    projected_prediction(
        tangent_kernel(model, (6, 6)),
        question,
        samples,
        0.0,
        1e9,
        CPU,
        seed=3,
        progress=lambda *now: calls.append(now),
    )
    points = 4 * (len(samples.known) + len(samples.new))
    assert {total for _, _, total in calls} == {points}
    assert [done for _, done, _ in calls][-1] == points


def test_less_time_takes_fewer_samples_and_too_little_is_told(asked):
    question, samples, model = asked
    tangent = tangent_kernel(model, (6, 6))
    told = projected_prediction(tangent, question, samples, 0.0, 1e-9, CPU, more_than=2)
    assert "by projected gradients" in told
    told = projected_prediction(tangent, question, samples, 0.0, 1e9, CPU, memory=10**5)
    assert told == "gradients of more do not fit 100 kB"
    # a quarter of the memory is for 2,048 numbers of each point: five samples of three classes, four elements
    tight = 4 * 8 * 2048 * 5 * 3 * 4
    less = projected_prediction(tangent, question, samples, 0.0, 1e9, CPU, memory=tight)
    assert (less.samples, less.complete) == ((5, 5), False)
    few = fewer_samples(samples, 5, 2)
    assert (few.per_class(), len(few.new)) == ((5, 5), 6)
    assert torch.equal(few.coverage.seen[few.known.positions == 0].sum(1), torch.ones(5).long())
    assert fewer_samples(samples, 5, 0).new is None


def test_the_forecast_of_a_finite_network_uses_more_samples_than_its_gram_matrix():
    options = ForecastOptions(method="kernel", budget=600, per_class=2, resamples=1)
    result = forecast(pooling_net, blobs(items=20), "C4", options=options)
    assert result.about_new
    assert result.basis == "from the architecture alone, 16 samples per class"
    assert torch.equal(result.class_accuracy, class_scores(result.prediction.full.new))
