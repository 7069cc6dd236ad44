"""Every advice's number against the thing itself."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.forecasting import CheckOptions, ForecastOptions, forecast
from symscope.forecasting._advice import Advice, rank_advice
from symscope.forecasting._kernel_choice import tangent_kernel
from symscope.forecasting._question import as_question
from symscope.forecasting._remedies import (
    GroupSizeForecast,
    augmented_accuracy,
    averaged_prediction,
    exact_elements,
    invariant_accuracy,
    sufficient_group,
)
from symscope.forecasting._resample import draw_resample
from symscope.networks import user_model
from symscope.spectral.dense import regression
from tests.forecasting.problems import FEW, blobs, small_net
from tests.tolerances import DENSE_PREDICTION


def made(action, per_class=2):
    question = as_question(blobs(items=5), action)
    kernel = tangent_kernel(user_model(small_net, (6, 6), 3), (6, 6)).kernel(0)
    return question, kernel, draw_resample(question, per_class, 0)


def test_exact_augmentation_fills_the_gap_and_rough_augmentation_nearly():
    question, kernel, resample = made("C4")
    assert augmented_accuracy(question, kernel, resample) == (1.0, 0.0)
    question, kernel, resample = made("C8")
    accuracy, distance = augmented_accuracy(question, kernel, resample)
    assert 0.0 < distance < 1.0
    # the same by training on the augmented points, one class at a time
    back = torch.stack([question.action.act((8 - h) % 8, resample.images[:, h]) for h in range(1, 8)], 1)
    flat = back.flatten(0, 1)
    flat = flat - flat.mean((1, 2), keepdim=True)
    flat = flat / flat.square().mean((1, 2), keepdim=True).sqrt()
    gram = kernel(torch.cat([resample.flat, flat]))
    labels = torch.cat([resample.one_hot.repeat_interleave(8, 0), resample.one_hot.repeat_interleave(7, 0)])
    right = []
    for c in range(3):
        at = (resample.labels == c).nonzero()[:, 0] * 8
        predicted = regression(gram, labels, at, ridge=1e-6 * float(gram.diagonal().mean()))
        right.append(float((predicted.argmax(1) == c).double().mean()))
    assert accuracy == pytest.approx(sum(right) / 3, abs=DENSE_PREDICTION)


def test_an_average_over_the_group_is_invariant_where_the_action_is_exact():
    question, kernel, resample = made("C4")
    there = averaged_prediction(question, kernel, resample, range(4))
    assert float(there.accuracy.min()) == 1.0
    assert "exactly zero" in there.notes[0]
    assert invariant_accuracy(kernel(resample.flat), question, resample) == 1.0
    # over half of it, quarter turns are still different points
    half = averaged_prediction(question, kernel, resample, [0, 2])
    points = torch.stack([resample.points, torch.rot90(resample.points, 2, (-2, -1))], 2).flatten(0, 2)
    gram = kernel(points).unflatten(1, (-1, 2)).unflatten(0, (-1, 2)).mean((1, 3))
    assert half.invariance_error < DENSE_PREDICTION
    assert torch.allclose(gram, gram.T)


def test_the_elements_that_move_pixels_exactly_are_found():
    assert exact_elements(as_question(blobs(), "C8"), blobs().x[:2]) == (0, 2, 4, 6)
    assert exact_elements(as_question(blobs(), "C3 rotation"), blobs().x[:2]) == (0,)
    assert exact_elements(as_question(blobs(), "D4"), blobs().x[:2]) == tuple(range(8))


def test_advice_is_ranked_with_numbers_and_nothing_is_needed_where_the_target_is_met():
    result = forecast(small_net, blobs(items=5), "C4", options=ForecastOptions(per_class=3, resamples=1))
    assert result.accuracy < 0.9
    kinds = [one.kind for one in result.advice]
    assert kinds[0] == "augment"
    assert {"pool", "build in"} <= set(kinds)
    assert "nothing" not in kinds
    for one in result.advice:
        assert one.gain == pytest.approx(one.accuracy - result.accuracy)
        assert any(character.isdigit() for character in one.evidence)
    easy = forecast(
        small_net, blobs(items=5), "C4", target=0.1, options=ForecastOptions(per_class=3, resamples=1)
    )
    assert easy.advice[0].kind == "nothing"


def test_refitting_is_advised_only_with_a_measured_gain():
    result = forecast(
        small_net,
        blobs(items=5),
        "C4",
        train=CheckOptions(epochs=30, kernel_classes=3),
        options=ForecastOptions(per_class=3, resamples=1),
    )
    there = result.check
    gain = float((there.refit_accuracy - there.class_accuracy).mean())
    refits = [one for one in result.advice if one.kind == "refit"]
    assert len(refits) == (gain > 0)
    assert all(one.gain == pytest.approx(gain) for one in refits)


def test_more_transformations_are_tried_until_the_target():
    result = forecast(
        small_net,
        blobs(items=5),
        "C4 rotation",
        target=0.95,
        options=FEW,
    )
    orders = [one.transformations for one in result.prediction.group_sizes]
    assert orders[:2] == [2, 4]
    assert orders == sorted(orders)
    if result.sufficient_group is not None:
        assert result.sufficient_group.accuracy >= 0.95
    assert sufficient_group((GroupSizeForecast("C2", 2, 0.3, 1),), 0.9) is None
    flips = forecast(small_net, blobs(), "flip", options=FEW)
    assert flips.prediction.group_sizes == ()


def test_ranking():
    rows = [
        Advice("architecture", "", 0.99, 0.0, ""),
        Advice("augment", "", 0.7, 0.0, ""),
        Advice("pool", "", 0.8, 0.0, ""),
        Advice("build in", "", 0.95, 0.0, ""),
    ]
    assert [one.kind for one in rank_advice(rows, 0.9)] == ["build in", "architecture", "pool", "augment"]


def test_architectures_are_compared_by_the_same_forecast():
    result = forecast(small_net, blobs(items=4), "C4", options=FEW)
    other = forecast("conv-gap", blobs(items=4), "C4", options=FEW)
    advised = {
        one.text.split()[-1].rstrip("."): one.accuracy for one in result.advice if one.kind == "architecture"
    }
    if other.accuracy > result.accuracy:
        assert advised["conv-gap"] == other.accuracy
    else:
        assert "conv-gap" not in advised
    assert isinstance(other.model.builder(0)[0], nn.Conv2d)
