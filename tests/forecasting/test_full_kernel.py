"""The architecture alone on all samples: against dense regression on what each training data holds."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import torch

from symscope.errors import InputError
from symscope.forecasting import ForecastOptions, TrainingOptions, forecast
from symscope.forecasting._full_kernel import full_kernel_prediction
from symscope.forecasting._kernel_choice import tangent_kernel
from symscope.forecasting._question import as_question
from symscope.forecasting._sample_split import forecast_samples
from symscope.forecasting._trained_answer import class_scores
from symscope.networks import user_model
from tests.forecasting.problems import blobs, number_net, small_net, spots


def dense(kernel, samples, points, new_points, seen):
    """Regression by a solve over the seen points, for known and for new samples."""
    known = samples.known
    wanted = (
        known.wanted.double().flatten(0, 1)
        if known.wanted.is_floating_point()
        else torch.nn.functional.one_hot(known.positions).double().repeat_interleave(4, 0)
    )
    at = seen.flatten()
    train = points.flatten(0, 1)[at]
    gram = kernel(train)
    weights = torch.linalg.solve(gram, wanted[at])
    predicted = [kernel(x.flatten(0, 1), train) @ weights for x in (points, new_points)]
    return [one.unflatten(0, (-1, 4)) for one in predicted]


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("seen", [None, "#1..#3", "0: upright"])
def test_scores_are_those_of_dense_regression(numbers, seen):
    data = spots(items=40) if numbers else blobs(items=10)
    if numbers and seen == "0: upright":
        seen = "lowest fifth: upright"
    question = as_question(data, "C4", seen=seen)
    samples = forecast_samples(question, seed=2)
    model = user_model(number_net if numbers else small_net, (6, 6), 1 if numbers else 3)
    tangent = tangent_kernel(model, (6, 6))
    result = full_kernel_prediction(tangent, question, samples, 0.0, 1e9, torch.device("cpu"))
    points = question.action.orbit(question.data.x[samples.known.indices])
    fresh = question.action.orbit(question.data.x[samples.new.indices])

    def standard(x):
        flat = x.flatten(2)
        flat = flat - flat.mean(2, keepdim=True)
        return (flat / flat.square().mean(2, keepdim=True).sqrt()).reshape(x.shape)

    for c in range(samples.classes):
        lacks = torch.zeros(samples.classes, 4, dtype=torch.bool)
        if seen is None:
            lacks[c, 0] = True
        else:
            lacks = ~question.coverage.seen[
                [int((question.data.labels == k).nonzero()[0]) for k in range(samples.classes)]
            ]
        held = ~lacks[samples.known.positions]
        known, new = dense(tangent.kernel(0), samples, standard(points), standard(fresh), held)
        for orbit, outputs, table in ((samples.known, known, result.known), (samples.new, new, result.new)):
            own = orbit.positions == c
            for g in lacks[c].nonzero()[:, 0].tolist():
                scores = (
                    samples.scores(outputs[own, g], orbit.wanted[own, g])
                    if numbers
                    else (outputs[own, g].argmax(1) == c).double()
                )
                assert float(table.mean[c, g]) == pytest.approx(float(scores.mean()), abs=1e-6)


def test_what_takes_too_long_is_told_instead():
    question = as_question(blobs(items=10), "C4")
    samples = forecast_samples(question, seed=2)
    tangent = tangent_kernel(user_model(small_net, (6, 6), 3), (6, 6))
    told = full_kernel_prediction(tangent, question, samples, 0.0, 1e-9, torch.device("cpu"))
    assert "for all 24 samples" in told


def test_what_takes_too_much_memory_is_told_instead():
    question = as_question(blobs(items=10), "C4")
    samples = forecast_samples(question, seed=2)
    tangent = tangent_kernel(user_model(small_net, (6, 6), 3), (6, 6))
    told = full_kernel_prediction(tangent, question, samples, 0.0, 1e9, torch.device("cpu"), memory=1000)
    assert "1 kB" in told


def test_a_forecast_keeps_to_the_memory_that_is_given():
    """Images of 6 x 6 at four elements, 576 bytes a sample: nine of each of three classes."""
    options = ForecastOptions(method="pilot", budget=60, memory=3 * 3 * 9 * 576)
    short = TrainingOptions(steps=20, batch=16)
    result = forecast(small_net, blobs(items=25), "C4", training=short, options=options)
    assert result.samples == (7, 7)
    assert any(note.startswith("At most 7 samples of each class and 2 new") for note in result.notes)
    whole = forecast(small_net, blobs(items=25), "C4", training=short, options=replace(options, memory="6GB"))
    assert whole.samples == (20, 20)


def test_a_kernel_that_does_not_fit_the_memory_is_left_out_or_refused():
    """Points of five samples of three classes at four elements: 27 matrices of 60 x 60 numbers."""
    ask = partial(
        forecast, small_net, blobs(items=25), "C4", per_class=5, resamples=1, memory=10**6, steps=20, batch=16
    )
    refused = r"memory: kernels of 5 samples of each class take about 777\.6 kB, got 666\.67 kB for them"
    with pytest.raises(InputError, match=refused):
        ask(method="kernel")
    beside = ask(method="auto")
    assert beside.prediction is None
    assert any("architecture alone predicts was left out: kernels of 5" in one for one in beside.notes)
    assert ask(method="kernel", memory=1.2e6).prediction is not None


def test_the_forecast_from_the_architecture_is_about_new_samples_and_all_of_them():
    options = ForecastOptions(method="kernel", budget=60, per_class=2, resamples=1)
    result = forecast(small_net, blobs(items=20), "C4", options=options)
    assert result.about_new
    assert result.basis == "from the architecture alone, 16 samples per class"
    assert torch.equal(result.class_accuracy, class_scores(result.prediction.full.new))
    assert result.to_dict()["prediction"]["full"]["samples"] == [16, 16]
