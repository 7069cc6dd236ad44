"""Errors of layers by themselves: flattened maps, series, tokens; exact elements."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.auditing import exact_elements, layer_errors
from symscope.auditing._layers import layer_calls
from symscope.data import rotation
from symscope.data.images import shift
from tests.auditing.planted_networks import TurnedConv
from tests.tolerances import ROUNDING


def rows(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def own_errors(net, action, x, inputs=lambda x: x[:, None]):
    with torch.no_grad():
        return layer_errors(net.double().eval(), inputs, action, range(1, action.group.order), x)


def test_what_is_pointwise_on_flattened_maps_moves_with_them():
    net = nn.Sequential(TurnedConv(1, 2), nn.Flatten(), nn.Tanh(), nn.Linear(72, 3))
    errors, kinds = own_errors(net, rotation(4), rows(5, 6, 6))
    assert kinds["2"] == ("Tanh", "equivariant")
    assert errors["0"] < ROUNDING
    assert errors["2"] < ROUNDING
    assert errors["3"] > 0.1


def test_batch_norm_of_flattened_maps_is_equivariant_until_its_statistics_differ_by_position():
    norm = nn.BatchNorm1d(72)
    net = nn.Sequential(TurnedConv(1, 2), nn.Flatten(), norm, nn.Linear(72, 3))
    x = rows(5, 6, 6)
    assert own_errors(net, rotation(4), x)[0]["2"] < ROUNDING
    norm.running_mean.copy_(torch.arange(72.0))
    assert own_errors(net, rotation(4), x)[0]["2"] > 0.1


def test_series_are_moved_along_their_last_axis():
    conv = nn.Conv1d(1, 3, 3, padding=1, padding_mode="circular")
    net = nn.Sequential(conv, nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(3, 2))
    errors, kinds = own_errors(net, shift(8), rows(4, 1, 8), inputs=lambda x: x)
    assert kinds["0"] == ("Conv1d", "equivariant")
    assert errors["0"] < ROUNDING
    zeros = nn.Sequential(nn.Conv1d(1, 3, 3, padding=1), nn.Flatten(), nn.Linear(24, 2))
    assert own_errors(zeros, shift(8), rows(4, 1, 8), inputs=lambda x: x)[0]["0"] > 0.01


def test_a_first_token_that_stands_for_all_keeps_its_place():
    class Tokens(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.out = nn.LayerNorm(4, elementwise_affine=False), nn.Linear(4, 2)

        def forward(self, x):
            patches = nn.functional.unfold(x, 2, stride=2).transpose(1, 2).sort(-1).values
            tokens = torch.cat([patches.mean(1, keepdim=True), patches], 1)
            return self.out(self.norm(tokens)[:, 0])

    errors, kinds = own_errors(Tokens(), rotation(4), rows(4, 6, 6))
    assert kinds["norm"] == ("LayerNorm", "equivariant")
    assert errors["norm"] < ROUNDING


def test_quarter_turns_are_exact_and_eighths_are_not():
    assert exact_elements(rotation(8), rows(3, 6, 6)) == (0, 2, 4, 6)
    assert exact_elements(rotation(8), rows(3, 6, 6), [1, 2]) == (2,)


class Functions(nn.Module):
    """Functions, no layers, between a symmetric convolution and a linear layer on flattened maps."""

    def __init__(self, pooled: bool):
        super().__init__()
        self.conv, self.pooled = TurnedConv(1, 2), pooled
        self.out = nn.Linear(18 if pooled else 72, 3)

    def forward(self, x):
        x = torch.relu(self.conv(x))
        return self.out((nn.functional.max_pool2d(x, 2) if self.pooled else x).flatten(1))


@pytest.mark.parametrize("pooled", [False, True])
def test_maps_that_functions_changed_before_they_were_flattened_are_known(pooled):
    x = rows(5, 6, 6)
    errors, _ = own_errors(Functions(pooled), rotation(4), x)
    assert errors["out"] == pytest.approx(errors["whole network"])  # all of it is the last layer's
    assert errors["conv"] < ROUNDING


def test_maps_that_a_function_flattened_are_known():
    class Written(nn.Module):
        """Pools and flattens by functions, as most networks that people write do."""

        def __init__(self) -> None:
            super().__init__()
            self.conv, self.head = nn.Conv2d(1, 3, 3, padding=1), nn.Linear(12, 4)

        def forward(self, x):
            return self.head(torch.relu(torch.max_pool2d(self.conv(x), 3)).view(len(x), -1))

    calls = layer_calls(Written(), torch.rand(5, 1, 6, 6))
    assert [(one.name, one.maps) for one in calls] == [("conv", None), ("head", (3, 2, 2))]
