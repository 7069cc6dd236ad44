"""Nearest points of the training data by what the last layer gets, against all angles."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from symscope.forecasting._feature_neighbours import WIDEST, outputs_and_neighbours
from symscope.forecasting._refitted_output import refitted_output


def problem(width=7, points=60):
    generator = torch.Generator().manual_seed(3)
    x, fresh = torch.randn(2, points, 4, generator=generator)
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 5)).eval()
    return net, x, torch.arange(points) % 3, fresh[:40]


def angles_by_hand(features, labels, asked):
    unit, own = (one.double() / one.double().norm(dim=1, keepdim=True) for one in (features, asked))
    return labels[(own @ unit.mT).argmax(1)]


def test_the_nearest_is_that_of_all_angles_before_the_last_layer():
    net, x, labels, fresh = problem()
    fitted = refitted_output(net, x, labels, torch.tensor([0, 2, 4]))
    outputs, found = outputs_and_neighbours(fitted, fresh)
    torch.testing.assert_close(outputs, fitted.module(fresh).detach())
    assert torch.equal(found, angles_by_hand(net[:2](x), labels, net[:2](fresh)))
    _, again = outputs_and_neighbours(fitted, x)
    assert torch.equal(again, labels)  # a point is nearest to itself
    assert not net[2]._forward_hooks


@pytest.mark.parametrize("make", [lambda net: nn.Sequential(net, nn.LogSoftmax(1)), lambda net: Twice(net)])
def test_without_a_last_layer_of_its_own_outputs_are_compared(make):
    net, x, labels, fresh = problem()
    whole = make(net).eval()
    before = [whole(one).detach() for one in (x, fresh)]
    fitted = refitted_output(whole, x, labels, torch.arange(3))
    assert fitted.layer is None
    _, found = outputs_and_neighbours(fitted, fresh)
    assert torch.equal(found, angles_by_hand(before[0], labels, before[1]))


class Twice(nn.Module):
    """A network that calls its last layer twice."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x) + self.net(2 * x)


def test_a_layer_that_does_not_see_each_point_once_has_no_neighbours():
    net, x, labels, fresh = problem()
    fitted = replace(refitted_output(net, x, labels, torch.arange(3)), module=Twice(net))
    outputs, found = outputs_and_neighbours(fitted, fresh)
    assert found is None
    torch.testing.assert_close(outputs, Twice(net)(fresh).detach())


def test_wide_features_are_projected_and_far_apart_neighbours_stay():
    """Classes in orthogonal directions of more features than are compared."""
    wide, each = 4 * WIDEST, 20
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(3, wide, generator=generator)
    labels = torch.arange(3).repeat_interleave(each)
    x, fresh = (centres[labels] + 0.5 * torch.randn(3 * each, wide, generator=generator) for _ in range(2))
    net = nn.Sequential(nn.Linear(wide, 3)).eval()
    _, found = outputs_and_neighbours(refitted_output(net, x, labels, torch.arange(3)), fresh)
    assert torch.equal(found, labels)
