"""The forecast against dense regression, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import symscope
from symscope.data import LabelledData, custom_action, mnist_sample, rotation
from symscope.data.images import flip
from symscope.errors import InputError
from symscope.forecasting import ForecastOptions, ForecastStopped, TrainingOptions, forecast
from symscope.forecasting._kernel_choice import tangent_kernel
from symscope.forecasting._kernel_prediction import resample_prediction
from symscope.forecasting._prediction_task import accuracy_interval
from symscope.forecasting._resample import draw_resample
from symscope.groups import cyclic
from symscope.kernels import infinite_width
from symscope.spectral.dense import regression
from tests.forecasting.problems import (
    FEW,
    blobs,
    broken_net,
    failing,
    growing,
    kernel_only,
    negated,
    small_net,
)
from tests.tolerances import DENSE_PREDICTION


def dense_accuracy(data: LabelledData, net: nn.Module, per_class: int, seed: int) -> list[float]:
    """Train on all but one class's upright items, point by point, with nothing of symscope.forecast."""
    few = data.per_class(per_class, seed)
    points = torch.stack([torch.rot90(few.x, k, (-2, -1)) for k in range(4)], 1).flatten(2)
    points = points - points.mean(2, keepdim=True)
    points = (points / points.square().mean(2, keepdim=True).sqrt()).flatten(0, 1)
    gram = infinite_width(net[1:], parameterisation="standard").ntk(points)
    one_hot = nn.functional.one_hot(few.labels).double().repeat_interleave(4, 0)
    result = []
    for label in data.classes:
        at = (few.labels == label).nonzero()[:, 0] * 4
        predicted = regression(gram, one_hot, at, ridge=0.0)
        result.append(float((predicted.argmax(1) == label).double().mean()))
    return result


def test_the_group_form_is_dense_regression_when_the_action_is_exact():
    data = blobs(items=6, classes=4)
    net = nn.Sequential(nn.Flatten(), nn.Linear(36, 20), nn.ReLU(), nn.Linear(20, 4))
    result = forecast(
        lambda: net,
        data,
        "C4 rotation",
        options=kernel_only(per_class=3, resamples=2, seed=5),
    )
    for resample in range(2):
        assert result.prediction.class_accuracy[resample].tolist() == dense_accuracy(
            data, net, 3, 5 + resample
        )
    assert result.prediction.invariance_error < DENSE_PREDICTION
    # the action is exact and the kernel invariant, so that every missing element is like every other
    assert torch.allclose(
        result.prediction.table, result.prediction.class_accuracy.mean(0)[:, None].expand(4, 4)
    )
    assert 0 < float(result.prediction.class_accuracy.mean()) < 1
    assert result.prediction.kernel == "infinite-width NTK"


def test_inputs_are_moved_in_the_network_s_own_layout():
    conv = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
    flat = nn.Sequential(nn.Linear(36, 9), nn.ReLU(), nn.Linear(9, 3))
    assert forecast(conv, blobs(), "flip", options=FEW).model.layout == "channel"
    assert forecast(flat, blobs(), "flip", options=FEW).model.layout == "flat"


def test_missing_cases_can_be_named():
    data = blobs(items=5, classes=3)
    result = forecast(
        small_net,
        data,
        "C4",
        missing={1: [0, 2], 2: [3]},
        options=kernel_only(per_class=4, resamples=1),
    )
    asked = ~result.prediction.table.isnan()
    assert asked.int().tolist() == [[0, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]
    assert bool(result.prediction.class_accuracy[0, 0].isnan())
    assert result.prediction.resample_prediction.correct.shape == (12,)
    assert 0 <= result.accuracy <= 1
    # all are missing at once: each alone would leave the others in the training data
    whole = forecast(
        small_net,
        data,
        "C4",
        missing={1: [0]},
        options=kernel_only(per_class=4, resamples=1),
    )
    assert whole.prediction.class_error[1] < result.prediction.class_error[1]


def test_the_uncertainty_covers_new_draws():
    data = blobs(items=60, classes=3, seed=3)
    result = forecast(small_net, data, "C4", options=kernel_only(per_class=4, resamples=4))
    low, high = accuracy_interval(result.prediction.class_accuracy, 4)
    assert result.interval[1] - result.interval[0] > high - low  # it also holds what training may change
    kernel = tangent_kernel(result.model, (6, 6)).kernel(0)
    resamples = [draw_resample(result.question, 4, 100 + k) for k in range(40)]
    others = [float(resample_prediction(kernel(d.flat), d, cyclic(4)).accuracy.mean()) for d in resamples]
    assert sum(low <= one <= high for one in others) >= 34
    assert high - low < 0.8


def test_an_interval_never_has_no_width_and_stays_in_range():
    low, high = accuracy_interval(torch.zeros(3, 10), per_class=3)
    assert low == 0.0
    assert 0.01 < high < 0.2


def test_an_invariant_network_has_no_error():
    conv = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1, padding_mode="circular"),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 3),
    )
    result = forecast(conv, blobs(), "C3 shift-x", options=FEW)
    assert result.accuracy == 1.0
    assert "exactly zero" in result.prediction.notes[0]
    plain = forecast(small_net, blobs(), "C3 shift-x", options=FEW)
    assert plain.accuracy < 1.0


def test_without_an_infinite_form_the_network_itself_is_used():
    pooled = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(24, 3))
    result = forecast(pooled, blobs(), "C4", options=kernel_only(per_class=3, resamples=2))
    assert result.prediction.kernel == "finite-width NTK at initialisation"
    assert "MaxPool2d" in result.prediction.kernel_reason


def test_a_singular_kernel_gets_a_ridge_and_a_note():
    tiny = nn.Sequential(nn.Flatten(), nn.Linear(36, 3, bias=False))
    result = forecast(
        tiny,
        blobs(items=8),
        "C4",
        options=kernel_only(per_class=8, resamples=1, kernel="finite"),
    )
    assert result.prediction.resample_prediction.ridge > 0
    assert "singular" in result.prediction.notes[0]


@pytest.mark.parametrize("ridge", [-1.0, float("nan")])
def test_a_ridge_that_is_none_is_refused_and_not_taken_for_a_singular_kernel(ridge):
    with pytest.raises(InputError, match="ridge: expected a finite number of at least 0"):
        forecast(small_net(), blobs(), "C4", options=kernel_only(per_class=2, ridge=ridge))


def test_a_user_s_own_action():
    sign = custom_action(cyclic(2), negated, sample_ndim=2, name="sign")
    result = forecast(small_net, blobs(), sign, options=FEW)
    assert result.question.group.name == "C2"


def test_items_that_the_group_keeps_are_treated_as_cosets():
    data = blobs(items=3, classes=2)
    x = data.x.clone()
    x[0] = (x[0] + x[0].flip(-1)) / 2
    symmetric = LabelledData(x, data.labels, "half", "tests")
    net = nn.Sequential(nn.Flatten(), nn.Linear(36, 20), nn.ReLU(), nn.Linear(20, 2))
    result = forecast(net, symmetric, "flip", options=kernel_only(per_class=3, resamples=1))
    assert "cosets" in result.prediction.notes[0]


class Nothing(nn.Linear):
    """A network without an output."""

    def __init__(self):
        super().__init__(36, 3)

    def forward(self, x):
        return 0 * super().forward(x.flatten(1))


class Constant(nn.Linear):
    """A network of biases alone."""

    def __init__(self):
        super().__init__(36, 3)

    def forward(self, x):
        return super().forward(0 * x.flatten(1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "mpl"}, "did you mean 'mlp'"),
        ({"model": broken_net}, r"raised RuntimeError: no such checkpoint \(problems.py, line \d+\)"),
        ({"model": lambda: "net"}, "to return an nn.Module, got str"),
        ({"model": lambda a, b: nn.Linear(a, b)}, "needs a, b"),
        ({"model": lambda: nn.Linear(35, 3)}, "does not take the data"),
        ({"model": lambda: nn.Linear(36, 2)}, "labels out of range: <lambda> has 2 outputs"),
        ({"model": lambda: nn.ReLU()}, "expected a network with weights"),
        ({"action": "C8 rotaton"}, "did you mean 'rotation'"),
        ({"action": "C8 rotation twice"}, "expected a group and how it acts"),
        ({"action": custom_action(cyclic(2), growing, 2)}, "to return what it was given"),
        ({"action": custom_action(cyclic(2), failing, 2)}, "raised KeyError: 'angle'"),
        ({"action": custom_action(cyclic(2), lambda g, x: x / 0 if g else x, 2)}, "not finite"),
        ({"action": custom_action(cyclic(2), negated, 3)}, "moves samples with 3 axes"),
        ({"action": rotation(1)}, "two elements or more"),
        ({"missing": {7: [0]}}, "class 7 is not in the data"),
        ({"missing": {}}, "at least one class"),
        ({"missing": {1: [4]}}, "expected elements of C4, 0 to 3"),
        ({"missing": {1: [0, 1, 2, 3]}}, "every transformation of class 1 is missing"),
        ({"target": 1.5}, "target: expected an accuracy"),
        ({"options": {"resamples": 0}}, "resamples"),
        ({"options": {"budget": 0.0}}, "budget: expected more than 0 seconds"),
        ({"options": {"budget": 4e18}}, "at most a week"),
        ({"options": {"resamples": 10**9}}, "resamples: expected an integer from 1 to 1000"),
        ({"options": {"method": "magic"}}, "method: expected 'auto', 'pilot' or 'kernel'"),
        ({"model": Nothing}, "outputs that change with the weights, got a tangent kernel of 0"),
        ({"model": Constant}, "output does not depend on its input"),
        ({"options": {"seed": -1}}, "seed: expected an integer of at least 0"),
        ({"options": {"per_class": 99}}, "has 4 (items|samples), not 99"),
        ({"options": {"kernel": "exact"}}, "expected 'auto', 'infinite' or 'finite'"),
        (
            {
                "options": {"kernel": "infinite"},
                "model": lambda: nn.Sequential(nn.Flatten(), nn.Linear(36, 3), nn.GLU()),
            },
            "no infinite-width form|does not take|labels out of range",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_in_one_sentence(arguments, message):
    given = {"model": small_net, "data": blobs(), "action": "C4"} | arguments
    options = given.pop("options", {})
    with pytest.raises(InputError, match=message):
        forecast(**given, options=ForecastOptions(**({"method": "kernel"} | options)))


def test_classes_of_one_item_are_refused():
    data = blobs()
    lonely = LabelledData(data.x[:9], data.labels[:9], "lonely", "tests")
    with pytest.raises(InputError, match="class 2 has one sample"):
        forecast(small_net, lonely, "C4", options=FEW)
    with pytest.raises(InputError, match="two classes or more"):
        forecast(small_net, data.of_classes(1), "C4", options=FEW)


def test_constant_items_are_refused():
    data = blobs()
    x = data.x.clone()
    x[0] = 0.5
    with pytest.raises(InputError, match="constant"):
        forecast(
            small_net,
            LabelledData(x, data.labels, "flat", "tests"),
            "C4",
            options=kernel_only(per_class=4),
        )


def test_the_package_has_it_as_a_plain_function():
    digits = mnist_sample().of_classes(0, 1)
    called = symscope.forecast("mlp", digits, "C2 flip", options=FEW)
    assert torch.equal(
        called.class_accuracy,
        forecast("mlp", digits, "C2 flip", options=FEW).class_accuracy,
    )
    with pytest.raises(InputError, match="expected two elements or more"):
        symscope.forecast("mlp", digits, "C1 rotation")


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("model", ["mlp", "conv-gap", "vit"])
def test_the_answer_is_the_same_on_a_gpu(model):
    digits = mnist_sample().of_classes(0, 1, 4)
    here, there = (
        forecast(
            model,
            digits,
            "C4",
            options=kernel_only(per_class=2, resamples=2, device=device),
        )
        for device in ("cpu", "cuda")
    )
    torch.testing.assert_close(here.prediction.class_error, there.prediction.class_error, rtol=0, atol=1e-6)


@pytest.mark.parametrize("values", [(-2, -1, 7), (0, 5, 2 * 10**15)])
def test_classes_that_number_no_output_are_taken_in_their_order(values):
    data = blobs()
    labels = torch.tensor(values)[data.labels]
    options = kernel_only(per_class=2, resamples=1)
    usual = forecast("mlp", data, "C4", missing={1: [2]}, options=options)
    result = forecast("mlp", replace(data, labels=labels), "C4", missing={values[1]: [2]}, options=options)
    assert torch.equal(result.class_accuracy.isnan(), usual.class_accuracy.isnan())
    torch.testing.assert_close(result.class_accuracy, usual.class_accuracy, equal_nan=True)
    assert result.question.class_names == tuple(str(value) for value in values)
    with pytest.raises(InputError, match="there is no class '1'"):
        forecast("mlp", replace(data, labels=labels), "C4", missing={1: [2]}, options=options)


def test_the_size_of_images_does_not_change_the_forecast():
    data = blobs()
    options = kernel_only(per_class=2, resamples=1)
    usual = forecast("mlp", data, "C4", missing={1: [2]}, options=options)
    result = forecast("mlp", replace(data, x=1e160 * data.x), "C4", missing={1: [2]}, options=options)
    error, same = result.prediction.class_error, usual.prediction.class_error
    torch.testing.assert_close(error, same, equal_nan=True)
    assert result.prediction.notes == usual.prediction.notes


def test_arrays_with_words_give_the_same_forecast_as_labelled_data():
    data = blobs(items=3)
    usual = forecast(small_net, data, "C4", options=FEW)
    words = np.array(["ant", "bee", "cow"])[data.labels.numpy()].tolist()
    result = forecast(small_net, (data.x.numpy(), words), "C4", options=FEW)
    assert torch.equal(result.class_accuracy, usual.class_accuracy)
    assert torch.equal(result.prediction.table, usual.prediction.table)
    assert result.question.class_names == ("ant", "bee", "cow")
    assert usual.question.class_names == ("0", "1", "2")


def test_channels_last_is_refused_also_for_a_given_action():
    x = torch.rand(6, 12, 12, 3, generator=torch.Generator().manual_seed(0))
    for action in ("C4", "C2 flip", flip("x"), rotation(4)):
        with pytest.raises(InputError, match="channels first"):
            forecast(lambda: nn.Linear(432, 3), (x, torch.arange(6) % 3), action)


class Viewing(nn.Module):
    """A network that takes for granted that its inputs lie in memory in order."""

    def __init__(self) -> None:
        super().__init__()
        self.only = nn.Linear(48, 2)

    def forward(self, x):
        return self.only(x.view(len(x), -1))


def test_inputs_of_a_network_are_contiguous():
    x = torch.rand(8, 4, 4, 3, generator=torch.Generator().manual_seed(0)).permute(0, 3, 1, 2)
    options = ForecastOptions(budget=20, per_class=2, resamples=1, kernel="finite", standardise=False)
    training = TrainingOptions(steps=4)
    result = forecast(
        Viewing, (x, torch.arange(8) % 2), "C2 flip", train=True, training=training, options=options
    )
    assert result.check is not None
    assert result.pilot is not None


def test_series_without_an_axis_for_rows_are_rows():
    data = blobs(items=4, side=8)
    x, y = data.x.flatten(1).numpy(), data.labels.numpy()
    series = forecast("mlp", (x, y), "shift", options=FEW)
    rows = forecast("mlp", (x[:, None], y), "C8 shift-x", options=FEW)
    assert series.question.group.name == "C8"
    assert series.accuracy == rows.accuracy
    assert series.question.kind == "series"


def test_single_options_may_be_given_by_name():
    data, how = blobs(items=3), {"method": "kernel", "per_class": 2, "resamples": 1, "steps": 7}
    result = forecast("mlp", data, "C4", seed=5, options=ForecastOptions(seed=1), **how)
    assert (result.options.seed, result.options.method, result.training.steps) == (5, "kernel", 7)
    with pytest.raises(InputError, match=r"'buget'; did you mean 'budget'\?"):
        forecast("mlp", data, "C4", buget=3)


def test_ctrl_c_carries_what_is_known_and_goes_on_as_usual():
    """Stopped in the second trial of a remedy: the pilots and the first one are there."""
    calls = []

    def pressed(what, done, total):
        calls.append((what, done, total))
        if done > 10 + 3 * 30 + 10:  # steps of the pilots and of the first trial
            raise KeyboardInterrupt

    asked = {"seen": "0,1: upright", "training": TrainingOptions(steps=30, batch=8)}
    how = ForecastOptions(method="pilot", budget="1h")
    with pytest.raises(KeyboardInterrupt) as stop:
        forecast(small_net, blobs(items=6), "C4", progress=pressed, options=how, **asked)
    result = stop.value.result
    assert isinstance(stop.value, ForecastStopped)
    assert {"nothing", "average", "augment", "build in"} == {one.kind for one in result.advice}
    assert result.notes[-1].startswith("Stopped (remedies)")
    counted = [(done, total) for what, done, total in calls if what.startswith("training")]
    assert len({total for _, total in counted}) == 1
    assert counted == sorted(counted)
