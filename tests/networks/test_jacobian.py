from __future__ import annotations

import pytest
import torch

from symscope.networks import Jacobian, functional_module
from tests.kernels.networks import MODULES, dense_jacobian, inputs, module
from tests.tolerances import ROUNDING

every_module = pytest.mark.parametrize("name", MODULES)


@every_module
def test_rows_are_those_of_the_dense_jacobian(name):
    net, shape = module(name)
    x = inputs(3, shape)
    dense = dense_jacobian(net, x)
    cotangents = inputs(2, (dense.shape[1],), seed=5)
    rows = Jacobian(functional_module(net), x).rows(cotangents)
    result = torch.cat([t.flatten(2) for t in rows.values()], dim=2)
    expected = torch.einsum("ao,iop->iap", cotangents, dense)
    assert torch.allclose(result, expected, rtol=ROUNDING, atol=ROUNDING)


@every_module
@pytest.mark.parametrize("chunk", [1, 2, 10])
def test_products_are_those_of_the_dense_jacobian(name, chunk):
    net, shape = module(name)
    network, x = functional_module(net), inputs(5, shape)
    dense = dense_jacobian(net, x)
    v, w = inputs(5, (dense.shape[1],), seed=1), inputs(2, (dense.shape[2],), seed=2)
    back = network.flatten(Jacobian(network, x).vjp(v, chunk))
    assert torch.allclose(back, torch.einsum("io,iop->p", v, dense), rtol=ROUNDING, atol=ROUNDING)
    forward = Jacobian(network, x).jvp(network.unflatten(w[0]), chunk)
    assert torch.allclose(forward, dense @ w[0], rtol=ROUNDING, atol=ROUNDING)
    first, second = network.unflatten(w[0]), network.unflatten(w[1])
    both = Jacobian(network, x).batched_jvp({key: torch.stack([first[key], second[key]]) for key in first})
    assert torch.allclose(both, torch.einsum("iop,mp->mio", dense, w), rtol=ROUNDING, atol=ROUNDING)


def test_weights_are_flattened_in_the_order_of_torch():
    net, _ = module("mlp")
    network = functional_module(net)
    flat = network.flatten(network.weights(torch.float64))
    assert torch.equal(flat, torch.nn.utils.parameters_to_vector(net.parameters()).detach())
    assert torch.equal(network.flatten(network.unflatten(flat)), flat)
