"""The error of a linear network against its closed form, and what does not change it."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from symscope.auditing import audit_subject
from symscope.auditing._error_table import error_table, interval, resample_weights
from symscope.errors import InputError
from tests.auditing.test_subject import images


def linear(weight: torch.Tensor, bias: float = 0.0) -> nn.Module:
    layer = nn.Linear(weight.shape[1], weight.shape[0]).double()
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.fill_(bias)
    return nn.Sequential(nn.Flatten(), layer)


def drawn(*shape: int, seed: int = 3) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_a_linear_network_has_the_error_of_its_closed_form():
    """f(x) = W x: f(g x) - f(x) = (W P_g - W) x, with the permutation matrix of the quarter turn."""
    weight, data = drawn(3, 36), images(40)
    subject = audit_subject(linear(weight, bias=5.0), data, "C4 rotation")
    result = error_table(subject, data.x, subject.others)
    turns = torch.arange(36).reshape(6, 6)
    x = data.x.flatten(1)
    total = torch.zeros(40, dtype=torch.float64)
    for k in (1, 2, 3):
        total += ((x[:, torch.rot90(turns, k).flatten()] - x) @ weight.T).square().sum(1) / 3
    spread = ((x - x.mean(0)) @ weight.T).square().sum(1)
    assert result.error() == pytest.approx(math.sqrt(float(total.mean() / spread.mean())), rel=1e-10)
    assert result.error([2]) == pytest.approx(result.element_errors()[2])


def test_an_equivariant_network_plus_epsilon_has_an_error_in_proportion():
    """f = s + eps r, s invariant and r odd under the mirror: the error is 2 eps |r| over what varies."""
    even, odd = drawn(3, 6, 6), drawn(3, 6, 6, seed=4)
    even, odd = even + even.flip(-1), odd - odd.flip(-1)
    data = images(30)
    for eps in (0.0, 1e-3, 0.2):
        subject = audit_subject(linear((even + eps * odd).flatten(1)), data, "C2 flip-x")
        result = error_table(subject, data.x, subject.others)
        away = subject.outputs(data.x)
        broken = 2 * eps * data.x.flatten(1) @ odd.flatten(1).T
        spread = (away - away.mean(0)).square().sum(1).mean()
        expected = math.sqrt(float(broken.square().sum(1).mean() / spread))
        assert result.error() == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_adding_a_constant_and_scaling_change_nothing():
    data, weight = images(20), drawn(3, 36)
    errors = []
    for factor, bias in ((1.0, 0.0), (7.0, 100.0)):
        subject = audit_subject(linear(factor * weight, bias), data, "C4 rotation")
        errors.append(error_table(subject, data.x, subject.others).error())
    assert errors[0] == pytest.approx(errors[1], rel=1e-9)


def test_what_is_done_instead_of_the_action_is_measured_without_moving_outputs():
    data = images(20)
    subject = audit_subject(linear(drawn(3, 36)), data, "C4 rotation")
    still = error_table(subject, data.x, subject.others, moved=lambda g, x: x)
    assert still.error() == 0.0


def test_intervals_cover_the_mean_as_often_as_they_say():
    """Over many sets of normal numbers, about 95 of 100 intervals of the mean hold its true value."""
    covered = 0
    for seed in range(200):
        values = torch.randn(60, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        low, high = interval(resample_weights(60, seed) @ values)
        covered += low <= 0 <= high
    assert 175 <= covered <= 198


def test_outputs_that_are_all_the_same_are_refused():
    subject = audit_subject(linear(torch.zeros(3, 36).double(), 1.0), images(), "C4 rotation")
    with pytest.raises(InputError, match="the same for all"):
        error_table(subject, subject.data.x, subject.others)
