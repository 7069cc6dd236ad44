from __future__ import annotations

import pytest
import torch

from symscope.errors import InputError
from symscope.numerics._eigenpairs import top_eigenpairs
from tests.tolerances import LANCZOS


def matrix(n: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    a = torch.randn(n, n, dtype=torch.float64, generator=generator)
    return a @ a.T / n


@pytest.mark.parametrize(("n", "count"), [(5, 2), (5, 5), (60, 1), (60, 7), (60, 60)])
def test_pairs_are_those_of_the_dense_matrix(n, count):
    a = matrix(n)
    found = top_eigenpairs(lambda v: a @ v, n, count, seed=0)
    values, vectors = torch.linalg.eigh(a)
    assert torch.allclose(found.values, values.flip(0)[:count], rtol=LANCZOS, atol=LANCZOS)
    overlap = (found.vectors * vectors.flip(1)[:, :count]).sum(0).abs()
    assert torch.allclose(overlap, torch.ones(count, dtype=torch.float64), atol=LANCZOS)
    assert torch.allclose(
        found.residuals, (a @ found.vectors - found.values * found.vectors).norm(dim=0), atol=1e-14
    )
    assert found.residuals.max() < LANCZOS


def test_few_products_are_taken_and_counted():
    values = torch.logspace(0, -6, 400, dtype=torch.float64)
    calls = []
    found = top_eigenpairs(lambda v: calls.append(1) or values * v, 400, 3, seed=1)
    assert found.products == len(calls) < 200
    assert torch.allclose(found.values, values[:3], rtol=LANCZOS)


def test_a_loose_tolerance_shows_in_the_residuals():
    values = torch.linspace(1, 2, 300, dtype=torch.float64)  # hardly separated
    loose = top_eigenpairs(lambda v: values * v, 300, 2, seed=0, tolerance=1e-3)
    tight = top_eigenpairs(lambda v: values * v, 300, 2, seed=0, tolerance=1e-12)
    assert tight.residuals.max() < loose.residuals.max()
    assert ((loose.values - values.flip(0)[:2]).abs() <= loose.residuals + 1e-12).all()


def test_the_seed_decides_the_start():
    a = matrix(60)
    first, again = (top_eigenpairs(lambda v: a @ v, 60, 2, seed=3) for _ in range(2))
    assert torch.equal(first.vectors, again.vectors)


def test_bad_input_is_named():
    with pytest.raises(InputError, match="count: expected 1 to 4"):
        top_eigenpairs(lambda v: v, 4, 5, seed=0)
    with pytest.raises(InputError, match="NaN or infinite"):
        top_eigenpairs(lambda v: v * torch.nan, 4, 1, seed=0)
