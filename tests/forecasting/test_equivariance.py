"""Equivariance by layer: zero where it must be, and the grid's part apart from the model's."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from symscope.errors import InputError
from symscope.forecasting._equivariance import equivariance
from symscope.forecasting._question import as_question
from symscope.networks import user_model
from tests.forecasting.problems import blobs
from tests.tolerances import ROUNDING


class Isotropic(nn.Module):
    """A convolution whose filter looks the same from all four sides."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.tensor([0.7, -0.4, 0.2], dtype=torch.float64))

    def forward(self, x):
        centre, edge, corner = self.weights
        filters = torch.stack([corner, edge, corner, edge, centre, edge, corner, edge, corner])
        return nn.functional.conv2d(x, filters.reshape(1, 1, 3, 3).to(x), padding=1)


def measured(net, action, side=6):
    question = as_question(blobs(side=side), action)
    model = user_model(lambda: net, (side, side), 3)
    return equivariance(net, model, question, question.data.x)


def test_an_equivariant_layer_has_no_error_of_its_own_and_the_grid_s_part_is_apart():
    net = nn.Sequential(
        Isotropic(), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1, 3)
    ).double()
    exact = measured(net, "C4")
    assert all(one.model < ROUNDING for one in exact.layers)
    assert all(math.isnan(one.discretisation) for one in exact.layers)
    assert exact.asymmetry < ROUNDING
    rough = measured(net, "C8")
    first = rough.layers[0]
    assert (first.target, rough.layers[-1].target) == ("equivariant", "invariant")
    assert first.model < ROUNDING < 0.01 < first.discretisation
    assert rough.control == "3 elements of C8 that act exactly"
    assert rough.asymmetry > 0.001


def test_a_group_without_exact_elements_is_held_against_quarter_turns():
    net = nn.Sequential(Isotropic(), nn.Flatten(), nn.Linear(36, 3)).double()
    result = measured(net, "C3 rotation")
    assert result.control == "quarter turns of the same images"
    assert result.layers[0].model < ROUNDING < result.layers[0].discretisation


def test_an_ordinary_convolution_s_error_is_its_own():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.Flatten(), nn.Linear(108, 3)).double()
    result = measured(net, "C4")
    assert result.layers[0].model > 0.3
    x = blobs().x[:6]
    x = (x - x.mean((1, 2), keepdim=True)) / x.std((1, 2), keepdim=True, correction=0)
    with torch.no_grad():
        plain = net[0](x[:, None])
        errors = [
            (net[0](torch.rot90(x, k, (1, 2))[:, None]) - torch.rot90(plain, k, (2, 3))).norm() / plain.norm()
            for k in (1, 2, 3)
        ]
    assert abs(result.layers[0].model - float(sum(errors)) / 3) < 1e-10


def test_a_layer_is_not_blamed_for_the_ones_before_it():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = nn.Sequential(
            nn.Conv2d(1, 2, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(2, 2, 1),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(2, 3),
        )
    result = measured(net.double(), "C4")
    own = {one.layer: one.model for one in result.layers}
    assert own["0"] > 0.3
    assert max(own[name] for name in ("1", "2", "3", "5")) < ROUNDING
    assert result.whole.layer == "whole network"
    assert result.whole.model > 0.01  # the first layer's error, as it arrives at the outputs


def test_the_last_layer_s_own_error_is_measured_on_moved_maps():
    """An equivariant layer, flattened, and a read-out that knows positions: all error is the last's."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = nn.Sequential(Isotropic(), nn.Flatten(), nn.Linear(36, 3)).double()
    result = measured(net, "C4")
    first, last = result.layers
    assert first.model < ROUNDING
    assert abs(last.model - result.whole.model) < ROUNDING
    x = blobs().x[:6]
    x = (x - x.mean((1, 2), keepdim=True)) / x.std((1, 2), keepdim=True, correction=0)
    with torch.no_grad():
        plain = net(x[:, None])
        errors = [(net(torch.rot90(x, k, (1, 2))[:, None]) - plain).norm() / plain.norm() for k in (1, 2, 3)]
    assert abs(result.whole.model - float(sum(errors)) / 3) < 1e-10


def test_what_is_broken_between_layers_shows_in_the_whole_alone():
    class Placed(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Conv2d(1, 2, 1)
            self.readout = nn.Linear(2, 3)

        def forward(self, x):
            ramp = torch.linspace(-3, 3, x.shape[-1]).to(x)
            return self.readout((torch.tanh(self.inner(x)) * ramp).mean((2, 3)))

    result = measured(Placed().double(), "C4")
    assert all(one.model < ROUNDING for one in result.layers)
    assert result.whole.model > 0.01


def test_tokens_are_moved_on_their_grid():
    class Patches(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.Identity()
            self.inner = nn.LayerNorm(4, elementwise_affine=False)
            self.readout = nn.Linear(4, 3)

        def forward(self, x):
            tokens = nn.functional.unfold(x, 2, stride=2).transpose(1, 2)
            return self.readout(self.inner(tokens.sort(-1).values).mean(1))

    result = measured(Patches().double(), "C4")
    assert result.layers[0].target == "equivariant"
    assert result.layers[0].model < ROUNDING  # sorted patches do not know their own orientation


def test_a_network_that_gives_nan_is_refused():
    net = nn.Sequential(nn.Flatten(), nn.Linear(36, 3)).double()
    nn.init.constant_(net[1].bias, math.nan)
    with pytest.raises(InputError, match="expected finite outputs"):
        measured(net, "C4")
