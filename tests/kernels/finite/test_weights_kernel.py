from __future__ import annotations

import pytest
import torch
from torch import nn

from symscope.errors import InputError
from symscope.kernels.finite._empirical_ntk import empirical_ntk_blocks
from symscope.kernels.finite._weights_kernel import (
    weights_kernel,
    weights_kernel_eigenpairs,
    weights_kernel_product,
    weights_kernel_spectrum,
)
from tests.kernels.networks import MODULES, dense_jacobian, inputs, module
from tests.tolerances import LANCZOS, ROUNDING


def dense(net: nn.Module, x: torch.Tensor) -> torch.Tensor:
    j = dense_jacobian(net, x).flatten(0, 1)
    return j.T @ j


@pytest.mark.parametrize("name", MODULES)
def test_matrix_and_products_agree_with_the_dense_jacobian(name):
    net, shape = module(name)
    x = inputs(5, shape)
    expected = dense(net, x)
    result = weights_kernel(net, x)
    assert torch.allclose(result, expected, rtol=ROUNDING, atol=ROUNDING)
    assert torch.equal(result, result.T)
    v = inputs(1, (len(expected),), seed=3)[0]
    assert torch.allclose(weights_kernel_product(net, x, v), expected @ v, rtol=ROUNDING, atol=1e-11)


def test_little_memory_gives_the_same_matrix():
    net, shape = module("mlp")
    x = inputs(6, shape)
    with pytest.raises(InputError, match=r"needs .* bytes") as error:
        weights_kernel(net, x, memory=1000)
    least = int(str(error.value).split("needs ")[1].split(" ")[0])
    assert torch.allclose(
        weights_kernel(net, x, memory=least), weights_kernel(net, x), rtol=ROUNDING, atol=ROUNDING
    )
    with pytest.raises(InputError, match="weights_kernel_product"):
        weights_kernel(net, x, memory=least - 1)


@pytest.mark.parametrize("n", [4, 40])  # fewer and more rows than the 59 weights
def test_spectrum_and_pairs_come_from_the_smaller_side(n):
    net, shape = module("mlp")
    x = inputs(n, shape)
    expected = torch.linalg.eigvalsh(dense(net, x)).flip(0)
    spectrum = weights_kernel_spectrum(net, x)
    assert len(spectrum) == min(3 * n, 59)
    assert torch.allclose(spectrum, expected[: len(spectrum)], atol=1e-11 * expected[0].item())
    assert expected[len(spectrum) :].abs().sum() < 1e-11 * expected[0]
    pairs = weights_kernel_eigenpairs(net, x, 3, seed=0)
    assert torch.allclose(pairs.values, expected[:3], rtol=LANCZOS)
    assert pairs.vectors.shape == (59, 3)
    residuals = (dense(net, x) @ pairs.vectors - pairs.values * pairs.vectors).norm(dim=0)
    assert residuals.max() < LANCZOS * expected[0]
    assert torch.allclose(pairs.residuals, residuals, atol=LANCZOS)


def test_nonzero_spectrum_is_that_of_the_tangent_kernel():
    net, shape = module("conv")
    x = inputs(4, shape)
    ntk = empirical_ntk_blocks(net, x).permute(0, 2, 1, 3).reshape(12, 12)
    dual = torch.linalg.eigvalsh(ntk)
    assert torch.allclose(torch.linalg.eigvalsh(weights_kernel(net, x))[-12:], dual, rtol=1e-9)
    assert torch.allclose(weights_kernel(net, x).trace(), ntk.trace(), rtol=ROUNDING)


def test_bad_input_is_named():
    net, shape = module("mlp")
    x = inputs(3, shape)
    with pytest.raises(InputError, match=r"vector: expected shape \(59,\)"):
        weights_kernel_product(net, x, inputs(1, (58,))[0])
    with pytest.raises(InputError, match="count: expected 1 to 9"):
        weights_kernel_eigenpairs(net, x, 10, seed=0)
    with pytest.raises(InputError, match="only 3 eigenvalues are not zero"):
        weights_kernel_eigenpairs(net, torch.cat([x[:1]] * 3), 4, seed=0)
    with pytest.raises(InputError, match="use weights_kernel_eigenpairs"):
        weights_kernel_spectrum(net, x, memory=1000)
    with pytest.raises(InputError, match="NaN"):
        weights_kernel(net, x * torch.nan)
