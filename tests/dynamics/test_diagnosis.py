"""Layers of users' own modules."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope import InputError
from symscope.dynamics import LayerSpaces, affine_parts, build, equivariant_weights, layer_equivariance, split
from symscope.groups import cyclic, direct_product, from_matrices, permutation, trivial
from tests.dynamics.networks import corners, networks, seeded


def pixels(n):
    group = direct_product(cyclic(n), cyclic(n))
    i, j = torch.arange(n).repeat_interleave(n), torch.arange(n).repeat(n)
    points = [((i + a) % n) * n + (j + b) % n for a in range(n) for b in range(n)]
    return permutation(group, torch.stack(points))


def test_convolutions_with_and_without_borders():
    image = pixels(5)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular"),
            nn.ReLU(),
            nn.Conv2d(2, 3, 3, padding=1),
            nn.Flatten(),
            nn.Linear(75, 4),
        )
    spaces = {
        "0": LayerSpaces(image, 2 * image, (1, 5, 5)),
        "2": LayerSpaces(2 * image, 3 * image, (2, 5, 5)),
        "4": (3 * image, trivial(image.group, 4)),
    }
    found = layer_equivariance(model, spaces)
    assert [layer.name for layer in found] == ["4", "2", "0"]
    assert [layer.breaks for layer in found] == [True, True, False]
    assert 0.5 < found[0].relative <= 1
    assert 0.05 < found[1].relative < 0.5
    assert found[2].relative < 1e-6
    assert "breaks equivariance, most for element" in str(found[0])
    assert "is equivariant" in str(found[2])
    assert model.training  # left as it was
    x = torch.randn(3, 2, 5, 5, generator=seeded(1))
    matrix, bias = affine_parts(model[2], spaces["2"])
    by_hand = x.flatten(1).double() @ matrix.T + bias
    assert torch.allclose(model[2](x).flatten(1).double(), by_hand, atol=1e-5)


def test_numbers_are_those_of_the_declared_network():
    net = networks()["D4"]
    weights = [w + 0.1 * torch.randn_like(w) for w in equivariant_weights(net, seeded(0))]
    module = build(net, weights, equivariant=False)
    spaces = {f"layers.{i}": (net.sources[i], net.targets[i]) for i in range(net.depth)}
    by_name = {layer.name: layer for layer in layer_equivariance(module, spaces)}
    expected = split(net, weights)
    for i in range(net.depth):
        layer = by_name[f"layers.{i}"]
        assert layer.residual == pytest.approx(float(expected.residual[i]), abs=1e-12)
        assert layer.equivariant == pytest.approx(float(expected.equivariant[i]))
    assert not by_name["layers.2"].breaks  # between trivial spaces every matrix is equivariant


def test_a_bias_can_break_equivariance_alone():
    w = corners()
    linear = nn.Linear(4, 4).double()
    with torch.no_grad():
        linear.weight.copy_(torch.eye(4))
        linear.bias.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    [found] = layer_equivariance(linear, {"": (w, w)})
    assert found.residual < 1e-12
    assert found.breaks
    assert found.bias_residual == pytest.approx(5**0.5)


def test_bad_input():
    w = corners()
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    shear = from_matrices(cyclic(2), torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.5], [0.0, -1.0]]]))
    for spaces, message in [
        ({"first": (w, w)}, "name of a layer, got 'first'"),
        ({"0": (w, 2 * w)}, r"expected 0 to give 8 numbers \(2 V4 of D4\), it gives 4"),
        ({"0": (2 * w, w)}, r"expected 0 to take inputs of shape \(8,\)"),
        ({"0": LayerSpaces(w, w, (2, 3))}, "input_shape of 4 numbers"),
        ({"1": (w, w)}, "expected an affine layer; 1 is not"),
    ]:
        with pytest.raises(InputError, match=message):
            layer_equivariance(model, spaces)
    with pytest.raises(InputError, match="unitary representations; matrices of C2 at 0"):
        layer_equivariance(nn.Sequential(nn.Linear(2, 2)), {"0": (shear, shear)})
