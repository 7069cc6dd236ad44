"""What differs between classes and numbers, by hand."""

from __future__ import annotations

import pytest
import torch

from symscope.errors import InputError
from symscope.forecasting._prediction_task import CLASSIFICATION, REGRESSION
from symscope.forecasting._question import as_question
from symscope.forecasting._resample import draw_resample
from symscope.networks import user_model
from tests.forecasting.problems import blobs, number_net, spots
from tests.tolerances import ROUNDING


def test_scores_of_classes_are_right_or_wrong():
    resample = draw_resample(as_question(blobs(), "C4"), 2, 0)
    outputs = torch.tensor([[0.2, 0.9, 0.1], [0.2, 0.9, 1.1]], dtype=torch.float64)
    items, upright = torch.tensor([2, 3]), torch.zeros(2, dtype=torch.int64)  # both of class 1
    assert resample.scores(outputs, items, upright).tolist() == [1.0, 0.0]
    assert CLASSIFICATION.error(outputs, resample, items, upright) == pytest.approx(0.1, abs=ROUNDING)
    assert resample.task is CLASSIFICATION


def test_scores_of_numbers_are_what_is_explained_and_errors_are_in_their_units():
    question = as_question(spots(both=True), "C4", target_action="same")
    resample = draw_resample(question, 3, 0)
    items, elements = torch.tensor([0, 7, 14]), torch.tensor([0, 3, 1])
    generator = torch.Generator().manual_seed(1)
    outputs = torch.randn(3, 2, generator=generator, dtype=torch.float64)
    every = question.targets.values[:, 0]
    wanted = (resample.targets.values[:, 0] - every.mean(0)) / every.std(0, correction=0)
    assert torch.allclose(resample.outputs, wanted, atol=ROUNDING)
    variance = (wanted - wanted.mean(0)).square().sum(1).mean()
    explained = 1 - (outputs - wanted[items]).square().sum(1) / variance
    assert torch.allclose(resample.scores(outputs, items, elements), explained, atol=1e-10)
    said = outputs * every.std(0, correction=0) + every.mean(0)
    apart = (said - resample.targets.values[items, 0]).square().sum(1).mean().sqrt()
    assert REGRESSION.error(outputs, resample, items, elements) == pytest.approx(float(apart))
    # the mean of all drawn items explains nothing, the truth everything
    middle, everyone = wanted.mean(0).expand(15, 2), (torch.arange(15), torch.zeros(15, dtype=torch.int64))
    assert float(resample.scores(middle, *everyone).mean()) == pytest.approx(0.0, abs=1e-10)
    assert resample.scores(wanted, *everyone).tolist() == [1.0] * 15
    assert REGRESSION.correct(torch.tensor([0.76, 0.74, -3.0])).tolist() == [True, False, False]


def test_networks_need_an_output_for_each_number():
    question = as_question(spots(both=True), "C4", target_action="same")
    REGRESSION.check(question, user_model(lambda: number_net(2), (6, 6), 2))
    with pytest.raises(InputError, match="has 3 outputs, the data has 2 numbers to predict"):
        REGRESSION.check(question, user_model(lambda: number_net(3), (6, 6), 2, name="net"))
