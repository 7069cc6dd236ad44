from __future__ import annotations

import pytest
import torch

from symscope.errors import InputError
from symscope.networks import NETWORKS, arrange_inputs, user_model
from symscope.networks._named_networks import named_network

SHAPES = {
    "mlp": [(7,), (5, 3), (2, 3, 4)],
    "conv-fc": [(12, 12), (3, 6, 6)],
    "conv-gap": [(32, 32), (3, 6, 6)],
    "vit": [(12, 12), (3, 8, 8)],
    "deepsets": [(6, 3), (3, 3)],
    "pointnet": [(6, 2), (6, 5)],
    "message-passing": [(5, 5)],
    "conv1d": [(1, 12), (3, 12)],
    "gru": [(1, 12), (2, 9), (6, 6), (3, 6, 6)],
}


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_takes_its_kind_and_is_drawn_from_the_seed(name):
    for shape in SHAPES[name]:
        model = user_model(name, shape, 4)
        x = arrange_inputs(torch.randn(3, *shape, dtype=torch.float64), model.layout)
        one, same, other = (model.builder(seed) for seed in (1, 1, 2))
        assert one(x).shape == (3, 4)
        assert torch.equal(one(x), same(x))
        assert not torch.equal(one(x), other(x))


@pytest.mark.parametrize("name", ["deepsets", "pointnet"])
def test_the_order_of_points_is_nothing_to_them(name):
    x = torch.randn(2, 6, 3, dtype=torch.float64)
    net = named_network(name, (6, 3), 4)(0)
    assert torch.allclose(net(x), net(x[:, torch.randperm(6)]))
    assert not torch.allclose(net(x), net(x[..., [1, 0, 2]]))


def test_the_order_of_nodes_is_nothing_to_message_passing_and_edges_are_something():
    a = torch.rand(2, 6, 6, dtype=torch.float64)
    net, order = named_network("message-passing", (6, 6), 4)(0), torch.randperm(6)
    assert torch.allclose(net(a), net(a[:, order][:, :, order]))
    assert not torch.allclose(net(a), net(a[:, order]))


def test_a_recurrent_network_sees_the_order_of_moments():
    x = torch.randn(2, 3, 10, dtype=torch.float64)
    net = named_network("gru", (3, 10), 2)(0)
    assert not torch.allclose(net(x), net(x.flip(-1)))
    assert net.gru.input_size == 3


@pytest.mark.parametrize(
    ("name", "shape", "takes"),
    [
        ("conv-gap", (64,), "takes images"),
        ("conv-gap", (20, 3), "takes images"),
        ("deepsets", (28, 28), "takes clouds and sets"),
        ("pointnet", (3, 8, 8), "takes clouds and sets"),
        ("message-passing", (20, 3), "takes graphs"),
        ("conv1d", (28, 28), "takes series"),
        ("gru", (20, 3), "takes series"),
    ],
)
def test_networks_for_another_kind_are_refused_in_a_line(name, shape, takes):
    with pytest.raises(InputError, match=rf"the network {name} {takes}.*Use (mlp|deepsets)"):
        named_network(name, shape, 2)
