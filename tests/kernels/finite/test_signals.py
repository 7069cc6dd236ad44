from __future__ import annotations

import pytest
import torch

from symscope.kernels.finite._signals import StructureChangeError, forward_pass, gradient
from symscope.kernels.finite._structure import structured_layers
from symscope.networks import evaluation, functional_module
from tests.kernels.structured_networks import NETWORKS, structured_network
from tests.tolerances import ROUNDING


@pytest.mark.filterwarnings("ignore:Using padding='same' with even")
@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "rare"])
def test_gradients_of_layers_are_those_of_autograd(name):
    net, inputs, _ = structured_network(name)
    network, x = functional_module(net), inputs(3)
    with evaluation():
        layers = structured_layers(network, x, frozenset())
        cotangents = torch.randn(2, net.eval()(x).shape[1], dtype=torch.float64)
        sent = forward_pass(network, layers, x)
        result = list(sent.signals(cotangents))
    named = dict(net.named_parameters())
    for layer in layers:
        own = [named[p] for p in layer.parameters]
        for a, cotangent in enumerate(cotangents):
            rows = gradient(layer, sent.columns[layer.name], result[a][layer.name])
            for i in range(3):
                expected = torch.autograd.grad((net(x[i : i + 1]) @ cotangent).sum(), own)
                # a gradient is laid out as [group, row, columns and 1] or as weight, then bias
                if layer.elementwise:
                    flat = torch.cat([g.flatten() for g in expected])
                else:
                    flat = torch.cat([g.flatten(1) if g.ndim > 1 else g[:, None] for g in expected], 1)
                assert torch.allclose(rows[i], flat.flatten(), rtol=ROUNDING, atol=ROUNDING)


def test_a_layer_that_is_used_differently_on_later_inputs_is_named():
    net, inputs, _ = structured_network("rare")
    network, x = functional_module(net), inputs(4)
    with evaluation():
        layers = structured_layers(network, x, frozenset())
    assert forward_pass(network, layers, x[:2]).count == 2
    with pytest.raises(StructureChangeError, match="'a'") as error:
        forward_pass(network, layers, x)
    assert error.value.names == {"a"}
