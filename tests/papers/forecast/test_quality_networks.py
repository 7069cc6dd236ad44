"""The networks: the forecast's own where it names them, wider where asked."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.networks._named_networks import named_network
from symscope_papers.forecast.quality.networks import NETWORKS, network

OWN = {"mlp-2": "mlp", "conv-fc": "conv-fc", "conv-gap": "conv-gap", "vit": "vit"}


@pytest.mark.parametrize("side", [8, 28])
@pytest.mark.parametrize("name", list(OWN))
def test_they_are_what_the_forecast_builds_under_its_name(name, side):
    ours, theirs = network(name, (side, side), 4)(3), named_network(OWN[name], (side, side), 4)(3)
    x = torch.rand(2, 1, side, side, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    with torch.no_grad():
        assert torch.equal(ours(x), theirs(x))


@pytest.mark.parametrize("name", list(NETWORKS))
def test_wider_ones_have_more_weights_and_as_many_outputs(name):
    plain, wide = network(name, (8, 8), 3)(0), network(name, (8, 8), 3, wider=2)(0)
    count = [sum(weight.numel() for weight in net.parameters()) for net in (plain, wide)]
    assert count[1] > 1.5 * count[0]
    with torch.no_grad():
        assert wide(torch.ones(2, 1, 8, 8, dtype=torch.float64)).shape == (2, 3)


def test_depth_is_as_named():
    for name, depth in (("mlp-1", 1), ("mlp-2", 2), ("mlp-5", 5)):
        assert sum(isinstance(part, torch.nn.ReLU) for part in network(name, (3, 2), 2)(0)) == depth


def test_unknown_names_and_shapes_are_refused():
    with pytest.raises(InputError, match="expected one of mlp-1"):
        network("mlp-3", (8, 8), 2)
    with pytest.raises(InputError, match=r"takes square images, got inputs of shape \(8, 2\)"):
        network("conv-fc", (8, 2), 2)
