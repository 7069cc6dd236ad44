"""PilotForecast trainings against a linearised network written out by hand."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.func import functional_call, jacrev

from symscope.forecasting import CheckOptions, ForecastOptions, forecast, forecast_page
from symscope.forecasting._check import pilot_forecast, training_check
from symscope.forecasting._prediction_task import accuracy_interval, explained_interval
from symscope.forecasting._question import as_question, missing_masks
from symscope.forecasting._resample import draw_resample
from symscope.networks import user_model
from symscope.training import Optimiser
from tests.forecasting.problems import blobs, number_net, small_net, spots
from tests.tolerances import DENSE_PREDICTION

PLAIN = CheckOptions(batch=32, optimiser=Optimiser("adam", 1e-3), kernel_classes=0)


def features(net, x):
    """Gradients of every output in every weight, [points, outputs, weights]."""
    weights = {name: weight.detach() for name, weight in net.named_parameters()}
    result = jacrev(lambda own: functional_call(net, own, (x,)))(weights)
    return torch.cat([part.flatten(2) for part in result.values()], 2)


def trained(data, build, outputs, settings, seed):
    """A question, its first network after the pilot, and which points that has not seen."""
    question = as_question(data, "C4")
    resample = draw_resample(question, 2, 0)
    model = user_model(build, (6, 6), outputs)
    _, net = training_check(model, question, resample, settings, ForecastOptions(seed=seed))
    mask = missing_masks(resample.labels, question.group, None)[0].flatten()
    return question, resample, model, net, mask


def test_classes_go_on_with_cross_entropy_from_where_the_pilot_ends():
    settings = CheckOptions(epochs=3, batch=32, optimiser=Optimiser("adam", 1e-3), kernel_classes=0)
    question, resample, model, net, mask = trained(blobs(items=6), small_net, 3, settings, seed=1)
    result = pilot_forecast(model, question, resample, PLAIN, ForecastOptions(pilot_epochs=3, seed=1))
    x = resample.flat[:, None]
    gradients = features(net, x)
    gram = torch.einsum("ioj,koj->ik", gradients, gradients) / 3
    wanted = resample.one_hot.repeat_interleave(4, 0)
    with torch.no_grad():
        start = net(x)
    share = torch.zeros_like(wanted[~mask])
    rate = 1 / float(torch.linalg.eigvalsh(gram).max())
    for _ in range(60_000):  # plain descent, without momentum
        f = start + gram[:, ~mask] @ share
        loss = nn.functional.cross_entropy(f[~mask], wanted[~mask])
        if loss < 0.01:
            break
        share = share - rate * (torch.softmax(f[~mask], 1) - wanted[~mask])
    assert float(loss) < 0.011
    right = (f[mask].argmax(1) == 0).double().mean()
    assert float(result.class_accuracy[0]) == float(right)


def test_numbers_go_on_with_squared_loss_to_its_end():
    settings = CheckOptions(epochs=4, batch=32, optimiser=Optimiser("adam", 1e-3), kernel_classes=0)
    question, resample, model, net, mask = trained(spots(), number_net, 1, settings, seed=4)
    result = pilot_forecast(model, question, resample, PLAIN, ForecastOptions(pilot_epochs=4, seed=4))
    x = resample.flat[:, None]
    phi = features(net, x)[:, 0]
    with torch.no_grad():
        start = net(x)
    left = (resample.outputs.repeat_interleave(4, 0) - start)[~mask]
    ridge = 1e-6 * float((phi**2).sum(1).mean())
    step = torch.linalg.solve(
        phi[~mask].T @ phi[~mask] + ridge * torch.eye(phi.shape[1]).double(), phi[~mask].T @ left
    )
    predicted = start[mask] + phi[mask] @ step
    samples = mask.nonzero()[:, 0] // 4
    assert float(result.class_accuracy[0]) == pytest.approx(
        float(resample.scores(predicted, samples).mean()), abs=1e-6
    )


def test_what_is_expected_is_the_pilot_s_and_so_is_the_interval():
    result = forecast(
        small_net, blobs(items=6), "C4", options=ForecastOptions(per_class=3, resamples=2, pilot_epochs=2)
    )
    assert result.pilot.epochs == 2
    assert result.accuracy == pytest.approx(result.pilot.accuracy, abs=DENSE_PREDICTION)
    assert result.interval == accuracy_interval(result.pilot.class_accuracy[None], 3)
    assert "after a pilot training of 2 epochs" in result.verdict
    assert "uses a pilot training of 2 epochs" in forecast_page(result)
    assert (
        forecast(small_net, blobs(items=6), "C4", options=ForecastOptions(per_class=3, resamples=2)).pilot
        is None
    )


def test_classes_that_miss_nothing_are_not_asked():
    lacking = {1: [0, 2]}
    result = forecast(
        small_net,
        blobs(items=6),
        "C4",
        missing=lacking,
        options=ForecastOptions(per_class=2, resamples=1, pilot_epochs=1),
    )
    assert result.pilot.class_accuracy.isnan().tolist() == [True, False, True]
    assert 0 <= result.accuracy <= 1


def test_numbers_have_an_interval_after_a_pilot():
    result = forecast(
        number_net, spots(), "C4", options=ForecastOptions(per_class=3, resamples=1, pilot_epochs=2)
    )
    low, high = result.interval
    assert low < result.accuracy <= high <= 1
    wanted = explained_interval(result.pilot.class_accuracy[None], result.pilot.class_spread[None], 3)
    assert (low, high) == wanted
