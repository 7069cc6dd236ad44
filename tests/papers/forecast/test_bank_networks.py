"""The bank's networks: they take their data, are drawn from seeds, and DeepSets do not mind order."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.networks import arrange_inputs, user_model
from symscope_papers.forecast.bank.networks import NETWORKS, bank_network, parameter_count

SHAPES = {"deepsets": [(8, 2)], "mlp": [(8, 2), (3, 8, 8)], "gru": [(12, 12), (3, 8, 8), (1, 16)]}
SHAPES |= {"pointnet": [(12, 6)], "conv1d": [(1, 16)], "message-passing": [(8, 8)]}


@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "resnet18"])
def test_a_network_takes_its_data_and_is_drawn_from_the_seed(name):
    for shape in SHAPES.get(name, [(12, 12), (3, 8, 8)]):
        model = user_model(bank_network(name, shape, 4), shape, 4, name=name)
        x = arrange_inputs(torch.randn(3, *shape, dtype=torch.float64), model.layout)
        one, same, other = (model.builder(seed).eval() for seed in (1, 1, 2))
        assert one(x).shape == (3, 4)
        assert torch.equal(one(x), same(x))
        assert not torch.equal(one(x), other(x))


def test_resnet18_has_the_usual_number_of_weights():
    """ResNet-18 for CIFAR has 11.17 million weights with batch norm behind the convolutions."""
    assert parameter_count(bank_network("resnet18", (3, 32, 32), 10)(0)) == pytest.approx(11.17e6, rel=0.001)


def test_deepsets_do_not_mind_the_order_of_points():
    module = bank_network("deepsets", (8, 2), 5)(0)
    x = torch.randn(4, 8, 2, dtype=torch.float64)
    torch.testing.assert_close(module(x), module(x[:, torch.randperm(8)]), rtol=0, atol=1e-12)


def test_unknown_networks_and_wrong_shapes_are_refused():
    with pytest.raises(InputError, match="no 'cn'"):
        bank_network("cn", (8, 8), 2)
    with pytest.raises(InputError, match="does not take inputs of shape"):
        bank_network("cnn", (8, 2), 2)
