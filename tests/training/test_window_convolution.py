"""Convolutions by windows are the convolutions they replace."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from symscope.networks.architectures import conv_net
from symscope.training._window_convolution import WindowConvolution, with_window_convolutions
from tests.tolerances import ROUNDING


def image(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@settings(max_examples=25, deadline=None)
@given(
    kernel=st.tuples(st.integers(1, 4), st.integers(1, 5)),
    padding=st.tuples(st.integers(0, 2), st.integers(0, 3)),
    bias=st.booleans(),
    seed=st.integers(0, 99),
)
def test_outputs_and_gradients_are_those_of_the_convolution(kernel, padding, bias, seed):
    layer = nn.Conv2d(1, 3, kernel, padding=padding, bias=bias).double()
    x = image(seed, 2, 1, 6, 7)
    weights = list(layer.parameters())
    outputs = [net(x) for net in (layer, WindowConvolution(layer))]
    torch.testing.assert_close(*outputs, rtol=ROUNDING, atol=ROUNDING)
    towards = image(seed + 1, *outputs[0].shape)
    gradients = [torch.autograd.grad((out * towards).sum(), weights) for out in outputs]
    torch.testing.assert_close(*gradients, rtol=ROUNDING, atol=ROUNDING)


def test_a_network_keeps_its_outputs_and_the_names_of_its_weights():
    net = conv_net(3)
    fast = with_window_convolutions(net)
    assert isinstance(fast[0], WindowConvolution)
    assert type(fast[3]) is nn.Conv2d
    assert [name for name, _ in fast.named_parameters()] == [name for name, _ in net.named_parameters()]
    assert type(net[0]) is nn.Conv2d
    x = image(0, 5, 1, 28, 28)
    torch.testing.assert_close(fast(x), net(x), rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(2, 3, 3),
        nn.Conv2d(1, 3, 3, stride=2),
        nn.Conv2d(1, 3, 3, dilation=2),
        nn.Conv2d(1, 3, 3, padding="same"),
        nn.Conv2d(1, 3, 3, padding=1, padding_mode="circular"),
        nn.Linear(3, 3),
    ],
)
def test_other_layers_stay(layer):
    assert type(with_window_convolutions(nn.Sequential(layer))[0]) is type(layer)


def test_a_layer_with_a_hook_stays():
    layer = nn.Conv2d(1, 2, 3)
    layer.register_forward_hook(lambda *_: None)
    assert type(with_window_convolutions(nn.Sequential(nn.Sequential(layer)))[0][0]) is nn.Conv2d


def test_a_single_layer_is_replaced_itself():
    assert isinstance(with_window_convolutions(nn.Conv2d(1, 2, 3)), WindowConvolution)
