"""Ends of spectra of matrices with known eigenvalues."""

from __future__ import annotations

import pytest
import torch

from symscope import InputError
from symscope.numerics._spectrum_ends import ROUNDING, exact_ends, iterated_ends
from tests.dynamics.networks import seeded

SIZE, OUTSIDE = 400, 60
EPS = torch.finfo(torch.float64).eps

SPECTRA = {
    "spread": torch.linspace(-1, 2, SIZE - OUTSIDE),
    "zero": torch.zeros(SIZE - OUTSIDE),
    "one value": torch.full((SIZE - OUTSIDE,), 0.5),
    "many zeros": torch.cat([torch.zeros(300), torch.linspace(1e-5, 3, SIZE - OUTSIDE - 300)]),
    "below many zeros": torch.cat([torch.tensor([-1e-6]), torch.zeros(300), torch.linspace(0.1, 3, 39)]),
    "above many zeros": torch.cat([torch.linspace(-3, -0.1, 39), torch.zeros(300), torch.tensor([1e-6])]),
    "negative": -torch.logspace(-1, 1, SIZE - OUTSIDE),
    "tiny": 1e-30 * torch.linspace(-1, 2, SIZE - OUTSIDE).double(),
}


def operator(name):
    """A symmetric matrix with that spectrum on a random subspace, larger values on the rest."""
    q = torch.linalg.qr(torch.randn(SIZE, SIZE, dtype=torch.float64, generator=seeded(3))).Q
    inner, outer = q[:, :-OUTSIDE], q[:, -OUTSIDE:]
    values = SPECTRA[name].double()
    beyond = 3 * float(values.abs().max()) or 7.0
    rest = torch.tensor([-beyond, beyond]).double().repeat(OUTSIDE // 2)
    matrix = (inner * values) @ inner.T + (outer * rest) @ outer.T
    return matrix, inner, values


@pytest.mark.parametrize("name", SPECTRA)
def test_iteration_finds_both_ends_on_a_subspace(name):
    matrix, inner, values = operator(name)

    def within(rows):
        return rows @ inner @ inner.T

    found = iterated_ends(
        lambda v: within((matrix @ v)[None])[0],
        within,
        SIZE,
        dimension=inner.shape[1],
        seed=0,
        tolerance=1e-8,
        limit=5000,
        floor=ROUNDING * EPS * float(matrix.abs().max()),
    )
    largest = float(values.abs().max())
    assert found.converged
    assert found.scale == pytest.approx(largest, rel=1e-8, abs=1e-13 * (largest == 0))
    for value, true in zip(found.values.tolist(), (values.min(), values.max()), strict=True):
        assert value == pytest.approx(float(true), abs=1e-8 * largest + 1e-13 * (largest == 0))
    assert float(found.residuals.max()) <= 1e-8 * largest + 1e-13 * (largest == 0)
    assert torch.allclose(within(found.vectors.T), found.vectors.T, atol=1e-12)
    assert torch.allclose(found.vectors.norm(dim=0), torch.ones(2).double())


@pytest.mark.parametrize("name", SPECTRA)
def test_the_matrix_gives_both_ends(name):
    _, _, values = operator(name)
    found = exact_ends(lambda v: values * v, len(values))
    assert found.values.tolist() == pytest.approx([float(values.min()), float(values.max())], rel=1e-12)
    assert found.products == len(values)
    assert found.converged


def test_iteration_says_when_it_gave_up():
    values = torch.linspace(0, 1, 400).double() ** 4
    options = {"dimension": 400, "seed": 0, "tolerance": 1e-8}
    found = iterated_ends(lambda v: values * v, lambda v: v, 400, limit=100, **options)
    assert not found.converged
    assert found.products <= 102
    assert float(found.residuals[0]) > 1e-10
    again = iterated_ends(lambda v: values * v, lambda v: v, 400, limit=100, **options)
    assert torch.equal(found.values, again.values)


def test_products_that_are_not_finite_are_refused():
    with pytest.raises(InputError, match=r"finite Hessian products, got NaN"):
        exact_ends(lambda v: v * torch.nan, 3)
