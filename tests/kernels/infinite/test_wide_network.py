from __future__ import annotations

import pickle

import pytest
import torch
from torch import nn

from symscope.errors import InputError
from symscope.kernels import UnsupportedLayer, infinite_width
from symscope.kernels.activations._piecewise_linear import PiecewiseLinearDual
from symscope.kernels.infinite import wide_network_kernels
from symscope.kernels.infinite._operations import (
    Activate,
    Conv,
    Dense,
    Flatten,
    GlobalPool,
    Input,
    LayerWeights,
    Node,
    Pad,
    Pool,
    Sum,
)
from symscope.kernels.infinite._sliding_windows import Window
from symscope.kernels.infinite._wide_network import Extent, WideNetwork, needed_extent

W = LayerWeights(1.0, 1.0, 1.0, 1.0)
RELU = Activate(PiecewiseLinearDual(0.0, 1.0, 0.0))


def test_a_network_written_by_hand_is_the_traced_one() -> None:
    nodes = (
        Node(Input(), (), "input_1"),
        Node(Dense(3, 4, W), (0,), "0"),
        Node(RELU, (1,), "1"),
        Node(Dense(4, 1, W), (2,), "2"),
    )
    traced = infinite_width(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))).network
    assert [n.operation for n in traced.nodes] == [n.operation for n in nodes]
    x = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    network = WideNetwork(nodes, "by hand")
    assert torch.equal(wide_network_kernels(network).ntk(x), wide_network_kernels(traced).ntk(x))
    assert pickle.loads(pickle.dumps(network)) == network


def test_needs_of_operations() -> None:
    pool = Pool((Window(2, 2), Window(1)), 2.0)
    assert needed_extent(pool, Extent.EQUAL) is Extent.ALL
    assert needed_extent(Pool((Window(1), Window(1)), 1.0), Extent.EQUAL) is Extent.EQUAL
    for operation in (pool, Flatten(), GlobalPool(False), RELU):
        assert needed_extent(operation, Extent.NONE) is Extent.NONE
    assert needed_extent(RELU, Extent.ALL) is Extent.ALL


def test_shapes_are_those_of_the_module() -> None:
    steps = [
        nn.Conv2d(2, 4, (3, 2), stride=2, padding=1),
        nn.ReLU(),
        nn.ReflectionPad2d((1, 0, 1, 1)),
        nn.AvgPool2d(2, 1),
        nn.Conv2d(4, 3, 2, dilation=2, padding_mode="circular", padding=1),
        nn.Flatten(),
        nn.Linear(75, 5),
    ]
    x = torch.zeros(1, 2, 7, 8)
    expected = [(2, 7, 8)]
    for step in steps:
        x = step(x)
        expected.append(tuple(x.shape[1:]))
    network = infinite_width(nn.Sequential(*steps)).network
    assert network.shapes((2, 7, 8)) == tuple(expected)


@pytest.mark.parametrize(
    ("operation", "features", "match"),
    [
        (Pad((3, 0), (0, 0), "circular"), (1, 2, 2), "padding is too wide"),
        (Pad((2, 0), (0, 0), "reflect"), (1, 2, 2), "padding is too wide"),
        (Pad((2, 0), (0, 0), "zeros"), (4,), "2 axes of positions"),
        (Pool((Window(3), Window(3)), 9.0), (1, 2, 2), "window is larger"),
        (Conv(1, 1, (Window(2, before=3, after=3, circular=True),), W), (1, 2), "wraps more than once"),
        (Flatten(7), (1, 2, 2), "expected 7 features"),
        (GlobalPool(False, 2), (1, 2), "expected 2 axes"),
    ],
)
def test_shapes_that_do_not_fit(operation, features: tuple[int, ...], match: str) -> None:
    network = WideNetwork((Node(Input(), (), "x"), Node(operation, (0,), "layer")), "net")
    with pytest.raises(InputError, match=f"'layer'.*{match}"):
        network.shapes(features)


def test_laws_follow_the_sources_of_randomness() -> None:
    nodes = (
        Node(Input(), (), "x"),
        Node(Dense(3, 3, W), (0,), "a"),
        Node(RELU, (1,), "relu"),
        Node(Dense(3, 3, W), (2,), "b"),
        Node(Sum(), (1, 3), "sum"),
    )
    laws = WideNetwork(nodes, "net").laws
    assert laws[0].fixed
    assert laws[1].gaussian
    assert not laws[2].gaussian
    assert laws[4].gaussian
    assert laws[4].sources == {1, 3}
    with pytest.raises(UnsupportedLayer, match=r"'again'.*correlated"):
        _ = WideNetwork((*nodes, Node(Sum(), (4, 3), "again")), "net").laws


def test_numbers_of_an_entry_are_positions_or_pairs_where_layers_pool() -> None:
    conv = (nn.Conv2d(1, 4, 3), nn.ReLU())
    flat = infinite_width(nn.Sequential(*conv, nn.Flatten(), nn.Linear(4 * 20, 1))).network
    assert flat.entry_numbers((1, 7, 6)) == 2 * 20 + 2  # 5 x 4 positions twice, then vectors
    pooled = infinite_width(
        nn.Sequential(*conv, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 1))
    ).network
    assert pooled.entry_numbers((1, 7, 6)) == (7 * 6) ** 2 + 2 * 20**2 + 3  # pairs of pixels come first
    with pytest.raises(InputError, match="larger than its input"):
        flat.entry_numbers((1, 2, 6))
