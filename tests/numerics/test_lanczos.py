"""Extreme eigenvalues against dense matrices with known spectra: spread, clustered, repeated, singular."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.numerics import ROUNDING, columnwise, exact_ends, iterated_ends, seeded, top_eigenpairs
from symscope.numerics._lanczos import _added
from tests.tolerances import LANCZOS

EPS = torch.finfo(torch.float64).eps
SIZE, OUTSIDE = 400, 60


def turned(values: torch.Tensor, seed: int = 0) -> torch.Tensor:
    """A dense symmetric matrix with these eigenvalues."""
    n = len(values)
    q = torch.linalg.qr(torch.randn(n, n, dtype=torch.float64, generator=seeded(seed))).Q
    return (q * values.double()) @ q.T


def gram(n: int) -> torch.Tensor:
    a = torch.randn(n, n, dtype=torch.float64, generator=seeded(0))
    return a @ a.T / n


@pytest.mark.parametrize(("n", "count"), [(5, 2), (5, 5), (60, 1), (60, 7), (60, 60)])
def test_pairs_are_those_of_the_dense_matrix(n, count):
    a = gram(n)
    result = top_eigenpairs(lambda v: a @ v, n, count, seed=0)
    values, vectors = torch.linalg.eigh(a)
    assert torch.allclose(result.values, values.flip(0)[:count], rtol=LANCZOS, atol=LANCZOS)
    overlap = (result.vectors * vectors.flip(1)[:, :count]).sum(0).abs()
    assert torch.allclose(overlap, torch.ones(count, dtype=torch.float64), atol=LANCZOS)
    assert torch.allclose(
        result.residuals, (a @ result.vectors - result.values * result.vectors).norm(dim=0), atol=1e-14
    )
    assert result.residuals.max() < LANCZOS


@given(
    levels=st.lists(st.floats(-4, 4).map(lambda x: round(x, 1)), min_size=1, max_size=5),
    clusters=st.sampled_from([0.0, 1e-7, 1e-3]),
    count=st.integers(1, 6),
    seed=st.integers(0, 1000),
)
def test_repeated_and_clustered_eigenvalues_are_found_as_often_as_they_occur(levels, clusters, count, seed):
    noise = torch.rand(120, dtype=torch.float64, generator=seeded(seed, 1))
    values = torch.tensor(levels, dtype=torch.float64).repeat(120)[:120] + clusters * noise
    a = turned(values, seed)
    result = top_eigenpairs(lambda v: a @ v, 120, count, seed=seed)
    exact = torch.linalg.eigvalsh(a).flip(0)[:count]
    # a residual r in a cluster leaves an error of at most r; beside rounding of the largest eigenvalue
    allowed = 1e-10 * exact.abs() + 4 * ROUNDING * EPS * values.abs().max()
    assert ((result.values - exact).abs() <= allowed).all()
    orthogonality = result.vectors.T @ result.vectors - torch.eye(count, dtype=torch.float64)
    assert orthogonality.abs().max() < 1e-12


def test_few_products_are_taken_and_counted():
    values = torch.logspace(0, -6, 400, dtype=torch.float64)
    calls = []
    result = top_eigenpairs(columnwise(lambda v: calls.append(1) or values * v), 400, 3, seed=1)
    assert result.products == len(calls) < 200
    assert torch.allclose(result.values, values[:3], rtol=LANCZOS)


def test_a_loose_tolerance_shows_in_the_residuals():
    values = torch.linspace(1, 2, 300, dtype=torch.float64)  # hardly separated
    loose, tight = (
        top_eigenpairs(lambda v: values[:, None] * v, 300, 2, seed=0, tolerance=tolerance)
        for tolerance in (1e-3, 1e-12)
    )
    assert tight.residuals.max() < loose.residuals.max()
    assert ((loose.values - values.flip(0)[:2]).abs() <= loose.residuals + 1e-12).all()


def test_products_in_single_precision_are_as_good_as_they_can_be():
    a = gram(80)
    result = top_eigenpairs(lambda v: a.float() @ v, 80, 3, seed=0, dtype=torch.float32)
    assert result.vectors.dtype == torch.float64
    exact = torch.linalg.eigvalsh(a).flip(0)[:3]
    torch.testing.assert_close(result.values, exact, rtol=1e-5, atol=0)


def test_the_seed_decides_the_start():
    a = gram(60)
    first, again = (top_eigenpairs(lambda v: a @ v, 60, 2, seed=3) for _ in range(2))
    assert torch.equal(first.vectors, again.vectors)


def test_small_values_are_left_to_the_caller_who_asks_for_that():
    values = torch.cat([torch.tensor([1e12, 1.0], dtype=torch.float64), torch.linspace(0, 0.5, 98).double()])
    result = top_eigenpairs(lambda v: values[:, None] * v, 100, 2, seed=0, floor=0.0, ratio=1e-6)
    assert float(result.values[0]) == pytest.approx(1e12, rel=1e-12)


def test_what_does_not_converge_is_said(monkeypatch):
    monkeypatch.setattr("symscope.numerics._lanczos.SWEEPS", 3)
    values = torch.linspace(1, 2, 300, dtype=torch.float64)
    with pytest.raises(InputError, match=r"did not reach the tolerance 1e-10 for 2 eigenvalues in \d+ prod"):
        top_eigenpairs(lambda v: values[:, None] * v, 300, 2, seed=0)


def test_bad_input_is_named():
    with pytest.raises(InputError, match="count: expected 1 to 4"):
        top_eigenpairs(lambda v: v, 4, 5, seed=0)
    with pytest.raises(InputError, match=r"expected finite products .* NaN or infinity"):
        top_eigenpairs(lambda v: v * torch.nan, 4, 1, seed=0)
    with pytest.raises(InputError, match="expected finite products"):
        exact_ends(lambda v: v * torch.nan, 3)


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

    def within(columns):
        return inner @ (inner.T @ columns)

    result = iterated_ends(
        lambda v: within(matrix @ v),
        SIZE,
        within=within,
        dimension=inner.shape[1],
        seed=0,
        tolerance=1e-8,
        limit=5000,
        floor=ROUNDING * EPS * float(matrix.abs().max()),
    )
    largest = float(values.abs().max())
    assert result.converged
    assert result.scale == pytest.approx(largest, rel=1e-8, abs=1e-13 * (largest == 0))
    for value, true in zip(result.values.tolist(), (values.min(), values.max()), strict=True):
        assert value == pytest.approx(float(true), abs=1e-8 * largest + 1e-13 * (largest == 0))
    assert float(result.residuals.max()) <= 1e-8 * largest + 1e-13 * (largest == 0)
    assert torch.allclose(within(result.vectors), result.vectors, atol=1e-12)
    assert torch.allclose(result.vectors.norm(dim=0), torch.ones(2).double())


@pytest.mark.parametrize("name", SPECTRA)
def test_the_matrix_gives_both_ends(name):
    _, _, values = operator(name)
    result = exact_ends(lambda v: values[:, None] * v, len(values))
    assert result.values.tolist() == pytest.approx([float(values.min()), float(values.max())], rel=1e-12)
    assert result.products == len(values)
    assert result.converged


def test_very_long_vectors_are_iterated_with_a_smaller_basis(monkeypatch):
    monkeypatch.setattr("symscope.numerics._lanczos.LARGEST_BASIS", 1)
    monkeypatch.setattr("symscope.numerics._lanczos.SLAB", 70)  # not a divisor of 600
    spectrum = torch.cat([torch.tensor([-0.3]), torch.linspace(-0.2, 2, 598), torch.tensor([2.5])]).double()
    widths = []

    def product(v):
        widths.append(v.shape[1])
        return spectrum[:, None] * v

    result = iterated_ends(product, 600, seed=0, tolerance=1e-6, limit=5000)
    assert result.converged
    torch.testing.assert_close(result.values, spectrum[[0, -1]], rtol=0, atol=1e-6)
    assert sum(widths) == result.products > 24  # the basis was cut back on the way


def test_iteration_says_when_it_gave_up():
    values = torch.linspace(0, 1, 400).double() ** 4
    options = {"seed": 0, "tolerance": 1e-8, "limit": 100}
    result, again = (iterated_ends(lambda v: values[:, None] * v, 400, **options) for _ in range(2))
    assert not result.converged
    assert result.products <= 102
    assert float(result.residuals[0]) > 1e-10
    assert torch.equal(result.values, again.values)


@pytest.mark.parametrize("columns", ["apart", "nearly dependent", "dependent", "zero"])
def test_what_is_added_to_a_basis_is_orthonormal_and_outside_of_it(columns):
    basis = torch.linalg.qr(torch.randn(300, 20, dtype=torch.float64, generator=seeded(1))).Q.mT
    new = torch.randn(4, 300, dtype=torch.float64, generator=seeded(2))
    if columns != "apart":
        new[1:] = {"nearly dependent": new[:1] + 1e-9 * new[1:], "dependent": new[:1], "zero": 0 * new[1:]}[
            columns
        ]
    result = _added(basis, new, None)
    both = torch.cat([basis, result])
    torch.testing.assert_close(both @ both.mT, torch.eye(24, dtype=torch.float64), rtol=0, atol=1e-14)
    left = new[0] - basis.mT @ (basis @ new[0])
    torch.testing.assert_close(result.mT @ (result @ left), left, rtol=0, atol=1e-12)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_vectors_stay_on_their_device():
    a = gram(200)
    there = a.cuda()
    top = top_eigenpairs(lambda v: there @ v, 200, 3, seed=0, device="cuda")
    ends = iterated_ends(lambda v: there @ v, 200, seed=0, tolerance=1e-8, limit=2000, device="cuda")
    assert top.vectors.device.type == ends.vectors.device.type == "cuda"
    exact = torch.linalg.eigvalsh(a)
    torch.testing.assert_close(top.values.cpu(), exact.flip(0)[:3], rtol=LANCZOS, atol=LANCZOS)
    torch.testing.assert_close(ends.values.cpu(), exact[[0, -1]], rtol=0, atol=1e-8 * float(exact[-1]))
