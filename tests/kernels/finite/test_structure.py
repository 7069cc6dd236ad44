from __future__ import annotations

import pytest

from symscope.kernels.finite._structure import structured_layers
from symscope.networks import evaluation, functional_module
from tests.kernels.structured_networks import NETWORKS, structured_network


@pytest.mark.filterwarnings("ignore:Using padding='same' with even")
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("n", [1, 3])
def test_layers_are_found_and_those_that_are_not_what_they_seem_left_out(name, n):
    net, inputs, expected = structured_network(name)
    network = functional_module(net)
    with evaluation():
        result = structured_layers(network, inputs(n), frozenset())
    assert {layer.name for layer in result} == expected
    for layer in result:
        own = [network.trainable[p].numel() for p in layer.parameters]
        assert layer.gradient == sum(own)  # its factors are about all of its parameters and no others


def test_hooks_are_gone_afterwards_and_the_users_module_never_has_any():
    net, inputs, _ = structured_network("strided")
    network = functional_module(net)
    with evaluation():
        assert structured_layers(network, inputs(2), frozenset({"3"}))[0].name == "0"
    for module in (net, network.module):
        assert not any(part._forward_hooks for part in module.modules())
        assert all(p.grad is None for p in module.parameters())
