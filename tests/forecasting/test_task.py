"""What differs between classes and numbers, by hand."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.errors import InputError
from symscope.forecasting._question import as_problem, drawn
from symscope.forecasting._task import CLASSIFICATION, REGRESSION
from symscope.networks import user_model
from symscope.training import MiniBatch, Optimiser, StoredPoints
from tests.forecasting.problems import blobs, number_net, spots
from tests.tolerances import ROUNDING


def test_scores_of_classes_are_right_or_wrong():
    draw = drawn(as_problem(blobs(), "C4"), 2, 0)
    outputs = torch.tensor([[0.2, 0.9, 0.1], [0.2, 0.9, 1.1]], dtype=torch.float64)
    items = torch.tensor([2, 3])  # both of class 1
    assert draw.scores(outputs, items).tolist() == [1.0, 0.0]
    assert CLASSIFICATION.error(outputs, draw, items) == pytest.approx(0.1, abs=ROUNDING)
    assert draw.task is CLASSIFICATION


def test_scores_of_numbers_are_what_is_explained_and_errors_are_in_their_units():
    problem = as_problem(spots(both=True), "C4")
    draw = drawn(problem, 3, 0)
    items = torch.tensor([0, 7, 14])
    generator = torch.Generator().manual_seed(1)
    outputs = torch.randn(3, 2, generator=generator, dtype=torch.float64)
    every = problem.targets.values
    wanted = (draw.targets.values - every.mean(0)) / every.std(0, correction=0)
    assert torch.allclose(draw.outputs, wanted, atol=ROUNDING)
    variance = (wanted - wanted.mean(0)).square().sum(1).mean()
    explained = 1 - (outputs - wanted[items]).square().sum(1) / variance
    assert torch.allclose(draw.scores(outputs, items), explained, atol=1e-10)
    said = outputs * every.std(0, correction=0) + every.mean(0)
    apart = (said - draw.targets.values[items]).square().sum(1).mean().sqrt()
    assert REGRESSION.error(outputs, draw, items) == pytest.approx(float(apart))
    # the mean of all drawn items explains nothing, the truth everything
    middle = wanted.mean(0).expand(15, 2)
    assert float(draw.scores(middle, torch.arange(15)).mean()) == pytest.approx(0.0, abs=1e-10)
    assert draw.scores(wanted, torch.arange(15)).tolist() == [1.0] * 15
    assert REGRESSION.right(torch.tensor([0.76, 0.74, -3.0])).tolist() == [True, False, False]


def test_training_scores_numbers_in_the_same_way():
    draw = drawn(as_problem(spots(both=True), "C4"), 2, 0)
    model = user_model(lambda: number_net(2), (6, 6), 2)
    hidden = torch.zeros(1, 40, dtype=torch.bool)
    hidden[0, ::4] = True
    points = StoredPoints(draw.flat[:, None], 4)
    settings = MiniBatch(30, 40, Optimiser("sgd", 0.05))
    found = REGRESSION.fitted(model.builder, points, draw, hidden, settings, [3])
    net = model.builder(3)
    steps = torch.optim.SGD(net.parameters(), lr=0.05)
    y = draw.outputs.repeat_interleave(4, 0)
    for _ in range(30):
        steps.zero_grad()
        nn.functional.mse_loss(net(draw.flat[~hidden[0]]), y[~hidden[0]]).backward()
        steps.step()
    with torch.no_grad():
        said = net(draw.flat)
    items = torch.arange(40) // 4
    scores = draw.scores(said, items)
    assert float(found.missing[0]) == pytest.approx(float(scores[hidden[0]].mean()), abs=1e-9)
    assert float(found.seen[0]) == pytest.approx(float(scores[~hidden[0]].mean()), abs=1e-9)


def test_networks_need_an_output_for_each_number():
    problem = as_problem(spots(both=True), "C4")
    REGRESSION.check(problem, user_model(lambda: number_net(2), (6, 6), 2))
    with pytest.raises(InputError, match="has 3 outputs, the data has 2 numbers to predict"):
        REGRESSION.check(problem, user_model(lambda: number_net(3), (6, 6), 2, name="net"))
