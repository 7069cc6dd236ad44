"""Estimates of kernel regression against operations and calls that are counted, never timed."""

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from symscope.forecasting import _architecture_forecast, forecast
from symscope.forecasting._kernel_prediction import class_pairs, resample_prediction
from symscope.forecasting._question import as_question
from symscope.forecasting._regression_cost import RegressionCost, irrep_count, pairs_cost, resample_cost
from symscope.forecasting._resample import draw_resample
from symscope.groups import named_groups
from symscope.spectral.irrep_blocks import frequencies
from tests.forecasting.problems import blobs, small_net


class Counted(TorchDispatchMode):
    """Counts calls, and operations of products and factorisations."""

    def __init__(self):
        super().__init__()
        self.calls, self.operations = 0, 0.0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.calls += 1
        name, first = function.overloadpacket.__name__, args[0] if args else None
        if name in ("mm", "bmm"):
            self.operations += 2 * first.numel() * args[1].shape[-1]
        elif name == "linalg_cholesky_ex":
            self.operations += first.numel() * first.shape[-1] / 3
        elif name == "cholesky_inverse":
            self.operations += first.numel() * first.shape[-1] * 2 / 3
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("classes", "per_class", "action", "seen"),
    [(2, 2, "C16", None), (5, 3, "C8", None), (3, 2, "D4", None), (3, 6, "C8", "0: 0°")],
)
def test_estimates_are_within_a_factor_of_two_of_what_is_counted(classes, per_class, action, seen):
    question = as_question(blobs(items=per_class, classes=classes), action, seen=seen)
    resample = draw_resample(question, per_class, 0)
    flat = resample.flat.flatten(1).double()
    gram = torch.exp(-torch.cdist(flat, flat) / 8)  # not singular
    masks = None if seen is None else question.missing_masks(resample.indices)
    frequencies(question.group)  # irreps are made once for a group
    with Counted() as one:
        resample_prediction(gram, resample, question.group, masks)
    with Counted() as pairs:
        class_pairs(gram, resample, question.group, 0.0)
    expected = resample_cost(classes, per_class, question.group, seen is None)
    assert 0.5 < expected.operations / one.operations < 2
    assert 0.5 < expected.calls / one.calls < 2
    assert 0.5 < pairs_cost(classes, question.group).calls / pairs.calls < 2
    assert expected.seconds > 0


@pytest.mark.parametrize("name", ["C7", "C12", "D5", "D6", "S4", "C2xC4", "Q8"])
def test_blocks_are_counted_without_irreps(name):
    group = named_groups.parse(name)
    assert irrep_count(group) == len(frequencies(group))


def test_pairs_that_take_too_long_are_left_out_and_said(monkeypatch):
    few = {"per_class": 2, "resamples": 1, "budget": "1h", "steps": 3}
    whole = forecast(small_net, blobs(), "C4", **few)
    assert not bool(whole.prediction.pairs.error.fill_diagonal_(0.0).isnan().any())
    monkeypatch.setattr(_architecture_forecast, "pairs_cost", lambda *_: RegressionCost(0, 10**9))
    less = forecast(small_net, blobs(), "C4", **few)
    assert bool(less.prediction.pairs.error.isnan().all())
    assert any("two by two, which would take about 10000 s" in note for note in less.notes)
    assert less.prediction.accuracy == whole.prediction.accuracy
