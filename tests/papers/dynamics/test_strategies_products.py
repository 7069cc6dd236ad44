"""Products by halves against float64."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from symscope_papers.dynamics.strategies import products
from symscope_papers.dynamics.strategies.products import (
    RowsTimesLayer,
    product,
    product_flops,
    rounded,
    split_layer,
    thrice,
)

CUDA = pytest.param(
    "cuda",
    marks=[
        pytest.mark.cuda,
        pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    ],
)


def matrix(seed: int, rows: int, columns: int, spread: float) -> torch.Tensor:
    """Float32 entries of sizes that differ by `spread` decades."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, columns, generator=generator)
    return x * 10 ** (-spread * torch.rand(rows, columns, generator=generator))


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 999),
    spread=st.floats(0, 6),
    size=st.floats(-30, 20),
    axis=st.sampled_from([0, 1]),
    low=st.sampled_from([1, 2]),
    transposed=st.booleans(),
)
def test_parts_add_up(seed, spread, size, axis, low, transposed):
    x = matrix(seed, 5, 7, spread) * 10**size
    if transposed:
        x = x.mT.contiguous().mT
    joined, scale = thrice(x, axis, low=low)
    parts = joined.chunk(3, axis)
    assert torch.equal(parts[0], parts[3 - low])
    back = (parts[0].double() + parts[low].double()) * scale.double()
    assert (back - x.double()).abs().max() <= 2**-22 * x.abs().max()
    assert bool(torch.isfinite(back).all())
    half, scale = rounded(x)
    back = half.double() * scale.double()
    close = 2**-11 * x.double().abs() + 2**-36 * x.abs().max()
    assert bool(((back - x.double()).abs() <= close).all())


@pytest.mark.parametrize("device", ["cpu", CUDA])
def test_rounding_on_the_way_back_alone(device):
    """Forward as float32 has it; gradients to half precision, and of every run its own."""
    x, layers = (torch.stack([matrix(s, *shape, 1.0) for s in (0, 1)]) for shape in ((40, 30), (20, 30)))
    x, layers = (one.to(device).requires_grad_() for one in (x, layers))
    back = torch.stack([matrix(s, 40, 20, 1.0) for s in (2, 3)]).to(device) * 1e-7
    out = RowsTimesLayer.apply(x, layers, [split_layer(layer) for layer in layers])
    result = (out, *torch.autograd.grad(out, (x, layers), back))
    wide = [one.detach().double() for one in (x, layers, back)]
    exact = (wide[0] @ wide[1].mT, wide[2] @ wide[1], wide[2].mT @ wide[0])
    for one, other, bounds in zip(result, exact, ((0, 2**-20), (1e-6, 2**-11), (1e-6, 2**-10)), strict=True):
        error = float((one.detach().double() - other).norm() / other.norm())
        assert bounds[0] <= error <= bounds[1]


def test_rounding_on_the_way_back_commutes_with_permutations_of_coordinates():
    """Q A P^T sees x P^T and gets Q G P^T: for permutations to the order of sums, for turns to halves."""
    x, layer, back = matrix(0, 60, 8, 1.0), matrix(1, 5, 8, 1.0), matrix(2, 60, 5, 1.0)

    def gradient(p, q):
        moved = (q @ layer @ p.mT)[None].requires_grad_()
        out = RowsTimesLayer.apply((x @ p.mT)[None], moved, [split_layer(moved.detach()[0])])
        return q.mT @ torch.autograd.grad(out, moved, (back @ q.mT)[None])[0][0] @ p

    generator = torch.Generator().manual_seed(3)
    permuted = [torch.eye(n)[torch.randperm(n, generator=generator)] for n in (8, 5)]
    turned = [torch.linalg.qr(torch.randn(n, n, generator=generator)).Q for n in (8, 5)]
    plain = gradient(torch.eye(8), torch.eye(5))
    gaps = [float((gradient(*maps) - plain).norm() / plain.norm()) for maps in (permuted, turned)]
    assert gaps[0] < 1e-6
    assert gaps[1] > 1e-5


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
def test_products_have_the_accuracy_of_float32(device, transposed):
    a, b = matrix(0, 130, 300, 2.0).to(device), matrix(1, 300, 70, 2.0).to(device)
    if transposed[0]:
        a = a.mT.contiguous().mT
    if transposed[1]:
        b = b.mT.contiguous().mT
    exact = a.double() @ b.double()
    norms = torch.linalg.vector_norm(a.double(), dim=1)[:, None] * torch.linalg.vector_norm(b.double(), dim=0)
    error = ((product(a, b, halved=True).double() - exact) / norms).abs().max()
    assert error < 2**-21
    rounded = ((a.bfloat16().double() @ b.bfloat16().double() - exact) / norms).abs().max()
    assert error < rounded / 100


def test_a_matrix_of_zeros_stays_one():
    assert torch.equal(product(torch.zeros(2, 3), torch.ones(3, 4), halved=True), torch.zeros(2, 4))


@pytest.mark.parametrize("device", [CUDA])
def test_small_products_keep_float32_on_a_gpu(device, monkeypatch):
    a, b = matrix(0, 130, 300, 2.0).to(device), matrix(1, 300, 70, 2.0).to(device)
    assert torch.equal(product(a, b), a @ b)
    monkeypatch.setattr(products, "WORTH_HALVING", 1.0)
    assert torch.equal(product(a, b), product(a, b, halved=True))
    assert not torch.equal(product(a, b), a @ b)


def test_float64_and_cpu_matrices_are_multiplied_as_they_are():
    a, b = matrix(0, 3, 4, 1.0).double(), matrix(1, 4, 5, 1.0).double()
    assert torch.equal(product(a, b), a @ b)
    assert torch.equal(product(a.float(), b.float()), a.float() @ b.float())


def test_flops_count_all_three_products():
    assert product_flops(2, 3, 5) == 60
