"""Intervals: closed forms, and how often they hold what they should."""

from __future__ import annotations

import math

import pytest
import torch
from scipy import stats

from symscope.forecasting._kernel_choice import tangent_kernel
from symscope.forecasting._kernel_prediction import resample_prediction
from symscope.forecasting._prediction_task import explained_interval
from symscope.forecasting._question import as_question
from symscope.forecasting._resample import draw_resample
from symscope.networks import user_model
from tests.forecasting.problems import number_net, spots


def test_the_larger_of_two_spreads_counts():
    scores = torch.tensor([[0.2, 0.4], [0.6, 0.8]], dtype=torch.float64)
    calm, wild = torch.full((2, 2), 0.01).double(), torch.full((2, 2), 2.0).double()
    t = float(stats.t.ppf(0.975, 2))
    low, high = explained_interval(scores, calm, per_group=4)
    assert high - low == pytest.approx(0.5 - low + 0.5)  # cut at 1
    assert low == pytest.approx(0.5 - t * math.sqrt(0.08) * math.sqrt(1.5))
    low, _ = explained_interval(scores, wild, per_group=4)
    assert low == pytest.approx(0.5 - t * math.sqrt(2 * 4 / 4) / 2 * math.sqrt(1.5))


def test_single_items_draws_and_groups_are_never_sure():
    one = torch.tensor([[0.4]], dtype=torch.float64)
    nothing = torch.full((1, 1), float("nan")).double()
    assert explained_interval(one, nothing, per_group=1) == (-math.inf, 1.0)
    low, high = explained_interval(one.repeat(1, 3) + torch.tensor([0.0, 0.1, 0.3]), nothing.repeat(1, 3), 1)
    assert -math.inf < low < 0.4 < high <= 1.0
    asked = torch.tensor([[math.nan, 0.4, 0.5]], dtype=torch.float64)
    spread = torch.tensor([[math.nan, 0.1, 0.1]], dtype=torch.float64)
    assert explained_interval(asked, spread, 4) == explained_interval(asked[:, 1:], spread[:, 1:], 4)


@pytest.mark.parametrize("per_group", [2, 4])
def test_intervals_hold_new_draws_about_as_often_as_they_say(per_group):
    question = as_question(spots(items=400, seed=2), "C4")
    kernel = tangent_kernel(user_model(number_net, (6, 6), 1), (6, 6)).kernel(0)
    result = []
    for k in range(60):
        resample = draw_resample(question, per_group, k)
        result.append(resample_prediction(kernel(resample.flat), resample, question.group))
    scores, spreads = (torch.stack([getattr(one, name) for one in result]) for name in ("accuracy", "spread"))
    held = []
    for start in range(0, 60, 3):  # three resamples make an interval, the other 57 are new
        own = torch.zeros(60, dtype=torch.bool)
        own[start : start + 3] = True
        low, high = explained_interval(scores[own], spreads[own], per_group)
        means = scores[~own].mean(1)
        held.append(((means >= low) & (means <= high)).double().mean())
    coverage = float(torch.stack(held).mean())
    # 95 % is meant; intervals of three resamples each differ much, so that 20 of them give this to about 0.03
    assert 0.88 <= coverage <= 0.995
