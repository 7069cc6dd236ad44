"""Products by halves against float64."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from symscope.dynamics.products import halves, product, product_flops

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
@given(seed=st.integers(0, 999), spread=st.floats(0, 6), size=st.floats(-30, 20))
def test_halves_add_up(seed, spread, size):
    x = matrix(seed, 5, 7, spread) * 10**size
    high, low, scale = halves(x)
    back = (high.double() + low.double()) * scale.double()
    assert (back - x.double()).abs().max() <= 2**-22 * x.abs().max()
    assert bool(torch.isfinite(back).all())


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


def test_float64_and_cpu_matrices_are_multiplied_as_they_are():
    a, b = matrix(0, 3, 4, 1.0).double(), matrix(1, 4, 5, 1.0).double()
    assert torch.equal(product(a, b), a @ b)
    assert torch.equal(product(a.float(), b.float()), a.float() @ b.float())


def test_flops_count_all_three_products():
    assert product_flops(2, 3, 5, halved=True) == 3 * product_flops(2, 3, 5, halved=False) == 180
