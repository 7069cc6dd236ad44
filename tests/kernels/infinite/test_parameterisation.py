from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.errors import InputError
from symscope.kernels import infinite_width
from symscope.kernels.infinite._operations import LayerWeights
from symscope.kernels.infinite._parameterisation import Prior, layer_weights

CONV = nn.Conv2d(3, 8, (2, 5))
NO_BIAS = nn.Linear(12, 5, bias=False)


@pytest.mark.parametrize(
    ("module", "prior", "expected"),
    [
        (NO_BIAS, Prior("ntk", "default", None, None, {}), LayerWeights(1.0, 0.0, 1.0, 0.0)),
        (nn.Linear(12, 5), Prior("ntk", "default", 2.0, 0.5, {}), LayerWeights(4.0, 0.25, 4.0, 0.25)),
        (nn.Linear(12, 5), Prior("standard", "default", 2.0, 0.5, {}), LayerWeights(4.0, 0.25, 12.0, 1.0)),
        (CONV, Prior("standard", "default", None, None, {}), LayerWeights(1 / 3, 1 / 90, 30.0, 1.0)),
        (
            CONV,
            Prior("ntk", "default", 1.0, 1.0, {"layer": {"b_std": 0.0}}),
            LayerWeights(1.0, 0.0, 1.0, 0.0),
        ),
        (
            CONV,
            Prior("ntk", "default", 1.0, 1.0, {"other": {"b_std": 0.0}}),
            LayerWeights(1.0, 1.0, 1.0, 1.0),
        ),
    ],
)
def test_the_four_numbers(module: nn.Module, prior: Prior, expected: LayerWeights) -> None:
    result = layer_weights(module, "layer", prior)
    assert vars(result) == pytest.approx(vars(expected))


def test_default_variances_are_those_pytorch_draws() -> None:
    torch.manual_seed(0)
    for module in (nn.Linear(50, 4000), nn.Conv2d(4, 3000, 3), nn.Conv1d(4, 3000, 5)):
        said = layer_weights(module, "", Prior("standard", "default", None, None, {}))
        drawn = layer_weights(module, "", Prior("standard", "measured", None, None, {}))
        assert drawn.w_var == pytest.approx(said.w_var, rel=0.02)
        assert drawn.b_var == pytest.approx(said.b_var, rel=0.1)


def test_frozen_parameters_are_random_but_not_trained() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1, bias=False))
    for parameter in net[0].parameters():
        parameter.requires_grad_(False)
    x = torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    nngp, ntk = infinite_width(net).both(x)
    torch.testing.assert_close(ntk, nngp)  # random features: only the last layer learns
    net[2].weight.requires_grad_(False)
    assert infinite_width(net).ntk(x).abs().max() == 0


def test_single_layers_can_have_their_own_scales() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 1, bias=False)))
    x = torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    plain = infinite_width(net, w_std=1.2, b_std=0.1).nngp(x)
    louder = infinite_width(net, w_std=1.2, b_std=0.1, layers={"1.1": {"w_std": 2.4}}).nngp(x)
    torch.testing.assert_close(louder, 4 * plain)


def test_learning_rates_of_the_two_parameterisations() -> None:
    """Standard Theta: every share of NTK Theta times fan_in / w_std^2 (weights) or 1 / b_std^2 (biases)."""
    net = nn.Sequential(nn.Linear(3, 20), nn.ReLU(), nn.Linear(20, 7), nn.ReLU(), nn.Linear(7, 1))
    x = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    w_std, b_std = 1.3, 0.7
    standard = infinite_width(net, parameterisation="standard", w_std=w_std, b_std=b_std).ntk(x)
    total = torch.zeros_like(standard)
    for name, parameter in net.named_parameters():
        for other in net.parameters():
            other.requires_grad_(other is parameter)
        share = infinite_width(net, w_std=w_std, b_std=b_std).ntk(x)
        total += share * (parameter.shape[1] / w_std**2 if name.endswith("weight") else 1 / b_std**2)
    torch.testing.assert_close(total, standard, rtol=1e-12, atol=0)


def test_lazy_layers_are_named() -> None:
    net = nn.Sequential(nn.LazyLinear(5), nn.ReLU(), nn.Linear(5, 1))
    with pytest.raises(InputError, match=r"layer 0 .* is lazy and has no weights yet; run the module once"):
        infinite_width(net)
    net(torch.randn(2, 3))
    infinite_width(net)
