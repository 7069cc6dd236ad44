"""Layers of users' own modules."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope import InputError
from symscope.dynamics import LayerSpaces, build_module, equivariant_weights, layer_equivariance
from symscope.dynamics._layer_equivariance import affine_parts
from symscope.dynamics.layer_vectors import equivariant_split
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
    result = layer_equivariance(model, spaces)
    assert [layer.name for layer in result] == ["4", "2", "0"]
    assert [layer.breaks for layer in result] == [True, True, False]
    assert 0.5 < result[0].relative <= 1
    assert 0.05 < result[1].relative < 0.5
    assert result[2].relative < 1e-6
    assert "breaks equivariance, most for element" in str(result[0])
    assert "is equivariant" in str(result[2])
    assert model.training  # left as it was
    x = torch.randn(3, 2, 5, 5, generator=seeded(1))
    matrix, bias = affine_parts(model[2], spaces["2"])
    by_hand = x.flatten(1).double() @ matrix.T + bias
    assert torch.allclose(model[2](x).flatten(1).double(), by_hand, atol=1e-5)


def test_numbers_are_those_of_the_declared_network():
    net = networks()["D4"]
    weights = [w + 0.1 * torch.randn_like(w) for w in equivariant_weights(net, seeded(0))]
    module = build_module(net, weights, equivariant=False)
    spaces = {f"layers.{i}": (net.sources[i], net.targets[i]) for i in range(net.depth)}
    by_name = {layer.name: layer for layer in layer_equivariance(module, spaces)}
    expected = equivariant_split(net, weights)
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
    [result] = layer_equivariance(linear, {"": (w, w)})
    assert result.residual < 1e-12
    assert result.breaks
    assert result.bias_residual == pytest.approx(5**0.5)


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


def shifts():
    return permutation(cyclic(8))


def test_weights_that_are_not_finite_are_refused():
    v = shifts()
    linear, conv = nn.Linear(8, 8), nn.Conv1d(1, 2, 3, padding=1, padding_mode="circular")
    with torch.no_grad():
        linear.bias.fill_(torch.nan)
        conv.weight[0, 0, 0] = torch.nan
    model = nn.Sequential(linear, conv)
    with pytest.raises(InputError, match="finite weights; bias of 0 is not"):
        layer_equivariance(model, {"0": (v, v)})
    with pytest.raises(InputError, match="finite weights; weight of 1 is not"):
        layer_equivariance(model, {"1": LayerSpaces(v, 2 * v, (1, 8))})


@pytest.mark.parametrize("fails", [False, True])
def test_every_submodule_keeps_its_own_mode(fails):
    v = shifts()
    block = nn.Sequential(nn.Conv1d(1, 2, 1), nn.BatchNorm1d(2))
    block.train()
    block[1].eval()
    before = {key: value.clone() for key, value in block.state_dict().items()}
    if fails:
        with pytest.raises(InputError, match="expected 0 to take"):
            layer_equivariance(nn.Sequential(block), {"0": LayerSpaces(v, 2 * v)})
    else:
        layer_equivariance(nn.Sequential(block), {"0": LayerSpaces(v, 2 * v, (1, 8))})
    assert [module.training for module in block.modules()] == [True, True, False]
    assert all(torch.equal(value, before[key]) for key, value in block.state_dict().items())
    assert all(value.dtype == before[key].dtype for key, value in block.state_dict().items())


def test_the_element_that_moves_a_bias_is_named():
    v = shifts()
    linear = nn.Linear(8, 8)
    with torch.no_grad():
        linear.weight.copy_(torch.eye(8))
        linear.bias.copy_(torch.arange(8.0))
    [result] = layer_equivariance(linear, {"": (v, v)})
    assert result.breaks
    assert result.element == "4 (r^4)"  # half a turn moves a ramp most
    assert result.bias_relative == pytest.approx(42**0.5 / 140**0.5)


def test_the_worst_layer_is_the_one_that_is_relatively_worst():
    v = shifts()
    large, broken = nn.Linear(8, 8), nn.Linear(8, 8, bias=False)
    with torch.no_grad():
        large.weight.copy_(1e4 * torch.eye(8))
        large.bias.copy_(torch.arange(8.0))
        broken.weight.copy_(torch.randn(8, 8, generator=seeded(0)))
    result = layer_equivariance(nn.Sequential(large, broken), {"0": (v, v), "1": (v, v)})
    assert [layer.name for layer in result] == ["1", "0"]
    assert result[1].breaks
    assert result[1].bias_relative == pytest.approx(42**0.5 / (1e4 * 8**0.5))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_few_digits_are_no_nonlinearity(dtype):
    v = shifts()
    conv = nn.Conv1d(1, 2, 3, padding=1, padding_mode="circular").to(dtype)
    linear = nn.Linear(8, 8).to(dtype)
    model = nn.Sequential(conv, linear)
    by_name = {
        layer.name: layer
        for layer in layer_equivariance(model, {"0": LayerSpaces(v, 2 * v, (1, 8)), "1": (v, v)})
    }
    assert not by_name["0"].breaks
    matrix, bias = affine_parts(linear, LayerSpaces(v, v))
    assert torch.allclose(matrix, linear.weight.double(), rtol=0, atol=1e-14)
    assert torch.allclose(bias, linear.bias.double(), rtol=0, atol=1e-14)


def test_layers_with_constants_of_their_own_are_taken_in_their_dtype():
    class Fixed(nn.Module):
        def __init__(self, dtype):
            super().__init__()
            self.linear = nn.Linear(8, 8, dtype=dtype)
            self.constant = torch.randn(8, 8, generator=seeded(0)).to(dtype)  # neither parameter nor buffer

        def forward(self, x):
            return self.linear(x) @ self.constant

    for dtype, places in ((torch.float32, 1e-6), (torch.bfloat16, 0.2)):
        layer = Fixed(dtype)
        matrix, _ = affine_parts(layer, LayerSpaces(shifts(), shifts()))
        exact = layer.constant.T.double() @ layer.linear.weight.double()
        assert float((matrix - exact).detach().abs().max()) < places


def test_rectifiers_are_not_affine_even_on_one_coordinate():
    sign = from_matrices(cyclic(2), torch.tensor([[[1.0]], [[-1.0]]]), "sign")
    for rectifier in (nn.ReLU(), nn.Hardtanh(), nn.LeakyReLU(0.5)):
        with pytest.raises(InputError, match="expected an affine layer"):
            layer_equivariance(rectifier, {"": (sign, sign)})


def test_layers_without_parameters_in_double_precision():
    v = shifts()
    for layer in (nn.BatchNorm1d(2, affine=False).double(), nn.BatchNorm1d(2, affine=False)):
        [result] = layer_equivariance(layer, {"": LayerSpaces(2 * v, 2 * v, (2, 8))})
        assert not result.breaks


class Named(nn.Module):
    def forward(self, x):
        return {"out": x}


class Summed(nn.Module):
    def forward(self, x):
        return x.sum(0)


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (nn.MultiheadAttention(4, 2, batch_first=True), r"expected 0 to take .*'key' and 'value'"),
        (nn.LSTM(4, 4, batch_first=True), "expected 0 to give one tensor of real numbers; LSTM gives tuple"),
        (Named(), "expected 0 to give one tensor of real numbers; Named gives dict"),
        (Summed(), "expected 0 to give one output per input"),
    ],
)
def test_layers_that_are_no_maps_of_one_tensor_are_named(layer, message):
    v = 4 * shifts()
    with pytest.raises(InputError, match=message):
        layer_equivariance(nn.Sequential(layer), {"0": LayerSpaces(v, v, (8, 4))})
