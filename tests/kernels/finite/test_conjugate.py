from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.errors import InputError
from symscope.kernels.conformance import assert_kernel_laws
from symscope.kernels.finite._conjugate import conjugate_kernel, hidden_activations
from symscope.kernels.finite._empirical_ntk import empirical_ntk
from symscope.networks import functional_module
from tests.kernels.networks import MODULES, inputs, module
from tests.tolerances import ROUNDING


class OutOfOrder(nn.Module):
    """The linear layer that runs last is registered first; another one never runs."""

    def __init__(self) -> None:
        super().__init__()
        self.last, self.first, self.idle = nn.Linear(3, 2), nn.Linear(4, 3), nn.Linear(2, 2)

    def forward(self, x):
        return self.last(self.first(x).tanh())


@pytest.mark.parametrize("name", MODULES)
def test_the_kernel_keeps_the_laws_of_kernels(name):
    net, shape = module(name)
    assert_kernel_laws(conjugate_kernel(net), inputs(5, shape), tolerance=ROUNDING)


def test_last_activations_are_found_by_running():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = OutOfOrder().double()
    x1, x2 = inputs(4, (4,)), inputs(3, (4,), seed=1)
    a1, a2 = (net.first(x).tanh() for x in (x1, x2))
    assert torch.allclose(conjugate_kernel(net)(x1, x2), a1 @ a2.T / 3, rtol=ROUNDING)
    assert torch.allclose(conjugate_kernel(net).diagonal(x1), (a1 * a1).sum(1) / 3, rtol=ROUNDING)


def test_a_named_layer_gives_its_output():
    net, shape = module("conv")
    x = inputs(4, shape)
    a = net.eval()[:3](x).flatten(1)
    assert torch.allclose(conjugate_kernel(net, layer="2")(x), a @ a.T / a.shape[1], rtol=ROUNDING)


def test_it_is_the_tangent_kernel_of_the_last_weights():
    net, shape = module("mlp")
    x = inputs(5, shape)
    net.requires_grad_(False)
    net[3].weight.requires_grad_(True)
    assert torch.allclose(7 * conjugate_kernel(net)(x), empirical_ntk(net)(x), rtol=ROUNDING)


def test_trained_weights_and_little_memory_are_used():
    net, other = module("mlp")[0], module("mlp", seed=1)[0]
    x = inputs(9, (4,))
    expected = conjugate_kernel(other)(x)
    assert torch.allclose(
        conjugate_kernel(net, params=other.state_dict(), memory="1kB")(x), expected, rtol=ROUNDING
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: conjugate_kernel(module("recurrent")[0], layer="layr"), "did you mean 'layer'"),
        (lambda: conjugate_kernel(nn.Sequential(nn.Conv1d(1, 1, 1), nn.Flatten())), "has no nn.Linear"),
        (
            lambda: conjugate_kernel(OutOfOrder().double(), layer="idle")(inputs(3, (4,))),
            "does not run layer 'idle'",
        ),
        (lambda: conjugate_kernel(module("recurrent")[0], layer="layer")(inputs(3, (5, 3))), "got tuple"),
        (lambda: conjugate_kernel(module("mlp")[0], memory=10)(inputs(3, (4,))), "one input needs"),
        (lambda: conjugate_kernel(module("mlp")[0])(inputs(3, (5,))), "cannot be evaluated"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_activations_of_a_layer_that_is_not_there_are_refused():
    network = functional_module(nn.Sequential(nn.ReLU(), nn.Linear(2, 1)))
    with pytest.raises(InputError, match=r"layer: Sequential has no submodule '='; known: 0, 1"):
        hidden_activations(network, torch.ones(3, 2), "=", 10**6)
