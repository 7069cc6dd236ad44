from __future__ import annotations

import math
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from symscope.errors import InputError
from symscope.kernels._gram._gram import gram
from symscope.kernels.conformance import assert_kernel_laws
from symscope.kernels.finite._empirical_ntk import (
    empirical_ntk,
    empirical_ntk_blocks,
    empirical_ntk_eigenpairs,
    empirical_ntk_product,
)
from symscope.kernels.infinite._infinite_width import infinite_width
from tests.kernels.networks import MODULES, dense_jacobian, inputs, module
from tests.tolerances import LANCZOS, MONTE_CARLO_SIGMAS, ROUNDING

every_module = pytest.mark.parametrize("name", MODULES)
all_methods = pytest.mark.parametrize("method", ["structured", "contraction", "products"])


@every_module
@all_methods
def test_whole_kernel_agrees_with_the_dense_jacobian(name, method):
    net, shape = module(name)
    x1, x2 = inputs(4, shape), inputs(3, shape, seed=1)
    j1, j2 = dense_jacobian(net, x1), dense_jacobian(net, x2)
    for y, j in ((x2, j2), (None, j1)):
        result = empirical_ntk_blocks(net, x1, y, method=method)
        expected = torch.einsum("iap,jbp->ijab", j1, j)
        assert torch.allclose(result, expected, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize(
    ("name", "method"), [*((name, "auto") for name in MODULES), ("mlp", "products"), ("custom", "products")]
)
def test_the_kernel_keeps_the_laws_of_kernels(name, method):
    net, shape = module(name)
    assert_kernel_laws(empirical_ntk(net, method=method), inputs(5, shape), tolerance=ROUNDING)


@every_module
def test_trace_and_chosen_output_are_parts_of_the_whole(name):
    net, shape = module(name)
    x1, x2 = inputs(4, shape), inputs(3, shape, seed=1)
    whole = empirical_ntk_blocks(net, x1, x2)
    mean = torch.einsum("ijaa->ij", whole) / whole.shape[-1]
    assert torch.allclose(empirical_ntk(net)(x1, x2), mean, rtol=ROUNDING, atol=ROUNDING)
    one = empirical_ntk(net, output=1)
    assert torch.allclose(one(x1, x2), whole[:, :, 1, 1], rtol=ROUNDING, atol=ROUNDING)
    assert torch.allclose(
        one.diagonal(x1), empirical_ntk_blocks(net, x1)[range(4), range(4), 1, 1], rtol=ROUNDING
    )


@given(seed=st.integers(0, 1000), n=st.integers(1, 5), outputs=st.integers(1, 4), width=st.integers(1, 6))
def test_trace_identity_symmetry_and_positivity(seed, n, outputs, width):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        net = nn.Sequential(nn.Linear(3, width), nn.GELU(), nn.Linear(width, outputs)).double()
    x = inputs(n, (3,), seed=seed)
    whole = empirical_ntk_blocks(net, x)
    matrix = whole.permute(0, 2, 1, 3).reshape(n * outputs, n * outputs)
    assert torch.equal(matrix, matrix.T)
    assert torch.linalg.eigvalsh(matrix).min() > -ROUNDING * matrix.abs().max() * len(matrix)
    squares = dense_jacobian(net, x).square().sum()
    assert torch.allclose(matrix.trace(), squares, rtol=ROUNDING)
    assert torch.allclose(empirical_ntk(net).diagonal(x).sum() * outputs, squares, rtol=ROUNDING)


@every_module
@pytest.mark.parametrize("memory", ["40kB", "1GB"])
def test_vector_products_agree_with_the_whole_kernel(name, memory):
    net, shape = module(name)
    x1, x2 = inputs(5, shape), inputs(4, shape, seed=1)
    whole = empirical_ntk_blocks(net, x1, x2)
    v = inputs(4, (whole.shape[-1],), seed=2)
    expected = torch.einsum("ijab,jb->ia", whole, v)
    result = empirical_ntk_product(net, x1, v, x2, memory=memory)
    assert torch.allclose(result, expected, rtol=ROUNDING, atol=ROUNDING)
    square = torch.einsum("ijab,jb->ia", empirical_ntk_blocks(net, x2), v)
    assert torch.allclose(
        empirical_ntk_product(net, x2, v, memory=memory), square, rtol=ROUNDING, atol=ROUNDING
    )


@pytest.mark.parametrize(("name", "n"), [("conv", 4), ("mlp", 20)])
def test_eigenpairs_need_no_matrix(name, n):
    net, shape = module(name)
    x = inputs(n, shape)
    whole = empirical_ntk_blocks(net, x)
    matrix = whole.permute(0, 2, 1, 3).reshape(3 * n, 3 * n)
    result = empirical_ntk_eigenpairs(net, x, 4, seed=0)
    assert torch.allclose(result.values, torch.linalg.eigvalsh(matrix).flip(0)[:4], rtol=LANCZOS)
    residuals = (matrix @ result.vectors - result.values * result.vectors).norm(dim=0)
    assert torch.allclose(result.residuals, residuals, atol=LANCZOS)
    assert residuals.max() < LANCZOS * result.values[0]


def test_tiles_and_processes_give_the_same_gram():
    net, shape = module("mlp")
    kernel, x = empirical_ntk(net), inputs(6, shape)
    expected = gram(kernel, x)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        result = gram(kernel, x, tile=4, executor=pool)
    assert torch.allclose(result, expected, rtol=ROUNDING, atol=ROUNDING)


class Scaled(nn.Linear):
    """A linear layer in NTK parameterisation: unit normal weights, scaled in the forward pass."""

    def __init__(self, fan_in: int, fan_out: int, generator: torch.Generator) -> None:
        super().__init__(fan_in, fan_out, bias=False)
        self.weight = nn.Parameter(torch.randn(fan_out, fan_in, dtype=torch.float64, generator=generator))

    def forward(self, x):
        return super().forward(x) / math.sqrt(self.in_features)


def relu_ntk(x: torch.Tensor, depth: int) -> torch.Tensor:
    """The infinite-width recursion for ReLU layers without bias, unit weight variance."""
    k = x @ x.T / x.shape[1]
    theta = k.clone()
    for _ in range(depth):
        scale = torch.outer(k.diagonal(), k.diagonal()).sqrt()
        a = torch.arccos((k / scale).clamp(-1, 1))
        theta = theta * (math.pi - a) / (2 * math.pi)
        k = scale * (torch.sin(a) + (math.pi - a) * torch.cos(a)) / (2 * math.pi)
        theta = theta + k
    return theta


def test_a_wide_network_approaches_the_infinite_one():
    x = inputs(4, (5,))
    draws = []
    for seed in range(24):
        g = torch.Generator().manual_seed(seed)
        width = 256
        net = nn.Sequential(
            Scaled(5, width, g), nn.ReLU(), Scaled(width, width, g), nn.ReLU(), Scaled(width, 1, g)
        )
        draws.append(empirical_ntk(net)(x))
    samples = torch.stack(draws)
    error = samples.std(0) / len(samples) ** 0.5
    # the mean over draws of width 256 is off by O(1 / width); the spread between draws is O(1 / sqrt(width))
    bias = 4 / 256 * relu_ntk(x, 2).diagonal().max()
    assert ((samples.mean(0) - relu_ntk(x, 2)).abs() < MONTE_CARLO_SIGMAS * error + bias).all()
    assert (error < 0.05 * relu_ntk(x, 2).diagonal().max()).all()  # so that the comparison means something
    plain = nn.Sequential(nn.Linear(5, 9), nn.ReLU(), nn.Linear(9, 9), nn.ReLU(), nn.Linear(9, 1))
    limit = infinite_width(plain, b_std=0.0).ntk(x)  # the same limit from the other half of the library
    assert torch.allclose(limit, relu_ntk(x, 2), rtol=1e-7)


def test_the_standard_parameterisation_is_that_of_fresh_modules():
    """PyTorch's own initialisation, with biases: the mean over modules against the prediction."""
    x, draws = inputs(4, (5,)), []
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for _ in range(24):
            net = nn.Sequential(
                nn.Linear(5, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, 1)
            )
            draws.append(empirical_ntk(net)(x))
    samples, limit = torch.stack(draws), infinite_width(net, parameterisation="standard").ntk(x)
    error = samples.std(0) / len(samples) ** 0.5
    assert ((samples.mean(0) - limit).abs() < MONTE_CARLO_SIGMAS * error + 4 / 200 * limit.max()).all()
    assert (error < 0.05 * limit.max()).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda net, x: empirical_ntk(net, method="fast"), "method: expected"),
        (lambda net, x: empirical_ntk(net, output=3)(x), "output: expected 0 to 2"),
        (lambda net, x: empirical_ntk(net, output=-1)(x), "output: expected 0 to 2"),
        (lambda net, x: empirical_ntk(net, memory=100)(x), "needs at least"),
        (lambda net, x: empirical_ntk(net, memory="lots"), "memory: expected bytes"),
        (lambda net, x: empirical_ntk_blocks(net, x, x.float()), "expected one dtype"),
        (lambda net, x: empirical_ntk_blocks(net, x, x[:, :3]), "points of one shape"),
        (lambda net, x: empirical_ntk_blocks(net, x * torch.nan), "NaN"),
        (lambda net, x: empirical_ntk_product(net, x, x), r"vectors: expected shape \(3, 3\)"),
        (
            lambda net, x: empirical_ntk_product(net, x, x[:, :3].float()),
            "in torch.float64, got .* in torch.float32",
        ),
        (lambda net, x: empirical_ntk_eigenpairs(net, x, 10, seed=0), "count: expected 1 to 9"),
    ],
)
def test_bad_input_is_named(call, message):
    net, shape = module("mlp")
    with pytest.raises(InputError, match=message):
        call(net, inputs(3, shape))
