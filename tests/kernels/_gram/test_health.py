"""Health against matrices built with known eigenvalues, ranks and duplicates."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.kernels._gram._gram import gram
from symscope.kernels._gram._health import health
from tests.kernels.toy import points, polynomial


def with_spectrum(values: torch.Tensor, seed: int = 0) -> torch.Tensor:
    Q, _ = torch.linalg.qr(points(len(values), len(values), seed=seed))
    K = (Q * values) @ Q.mT
    return (K + K.mT) / 2


@given(n=st.integers(2, 30), low=st.floats(-8, 0), high=st.floats(0, 4))
def test_extremes_and_condition_are_those_it_was_built_with(n, low, high):
    values = torch.logspace(low, high, n, dtype=torch.float64)
    result = health(with_spectrum(values))
    assert result.exact
    assert result.residual == 0
    assert math.isclose(result.largest, values[-1].item(), rel_tol=1e-12)
    assert abs(result.smallest - values[0].item()) <= 1e-14 * n * values[-1].item()
    assert result.rank == n
    assert result.condition == result.largest / result.smallest


@pytest.mark.parametrize("rank", [1, 5, 19])
def test_rank_is_the_number_of_features(rank):
    x = points(20, rank)
    result = health(x @ x.mT)
    assert result.rank == rank
    assert not result.good
    assert f"Singular to working precision: rank {rank} of 20" in str(result)
    assert "use a ridge >= " in str(result)


def test_a_good_gram_is_called_good_with_the_digits_it_costs():
    result = health(with_spectrum(torch.logspace(0, 6, 15, dtype=torch.float64)))
    assert result.good
    assert result.collapsed == ()
    assert result.meaning == (
        "Condition number 1.0e+06: solving loses about 6 of 16 digits, "
        "and noise in the labels can grow by up to 1.0e+06.",
    )


def test_digits_lost_are_really_lost():
    K = with_spectrum(torch.logspace(-9, 0, 40, dtype=torch.float64))
    w = points(40, 1, seed=3)
    error = float((torch.linalg.solve(K, K @ w) - w).norm() / w.norm())
    lost = math.log10(health(K).condition)
    assert lost - 4 <= 16 + math.log10(error) <= lost + 1


def test_duplicates_and_scaled_copies_are_grouped():
    x = points(12, 5)
    x[7], x[9], x[11] = x[2], x[2], x[4]
    result = health(gram(polynomial, x))
    assert result.collapsed == ((2, 7, 9), (4, 11))
    assert "5 points collapse to 2 (first group: 2, 7, 9)" in str(result)
    y = points(3, 5)
    y[2] = 3 * y[0]  # the same direction in feature space is as singular as the same point
    assert health(y @ y.mT).collapsed == ((0, 2),)


def test_grouping_works_across_chunks_of_rows():
    x = points(2500, 40)
    x[2400] = x[3]
    x[1100] = x[3]
    result = health(x @ x.mT, exact_up_to=100)
    assert result.collapsed == ((3, 1100, 2400),)


def test_tolerance_decides_what_counts_as_the_same():
    x = points(4, 5)
    x[3] = x[1] + 1e-4 * points(1, 5, seed=9)[0]
    K = x @ x.mT
    assert health(K).collapsed == ()
    result = health(K, tolerance=1e-6)
    assert result.collapsed == ((1, 3),)
    assert result.tolerance == 1e-6


def test_a_constant_gram_is_one_point():
    result = health(torch.ones(50, 50, dtype=torch.float64))
    assert result.collapsed == (tuple(range(50)),)
    assert result.rank == 1


def test_points_the_kernel_does_not_see():
    x = points(5, 3)
    x[3] = 0
    result = health(x @ x.mT)
    assert result.empty == (3,)
    assert result.collapsed == ()
    assert "1 points have k(x, x) <= 0 (first: 3)" in str(result)


def test_asymmetry_is_measured():
    K = with_spectrum(torch.linspace(1, 4, 6).double())
    K[1, 4] += 1e-3
    result = health(K)
    assert math.isclose(result.symmetry_error, 1e-3 / K.abs().max().item(), rel_tol=1e-9)
    assert "Not symmetric" in str(result)
    assert health((K + K.mT) / 2).symmetry_error == 0


def test_negative_eigenvalues_are_no_gram():
    result = health(with_spectrum(torch.tensor([-0.1, 1.0, 2.0, 3.0], dtype=torch.float64)))
    assert math.isclose(result.smallest, -0.1, rel_tol=1e-12)
    assert result.condition == math.inf
    assert not result.good
    assert "Not positive semi-definite: eigenvalue -1.00e-01" in str(result)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_not_a_number(value):
    K = torch.eye(4).double()
    K[2, 1] = value
    result = health(K)
    assert result.non_finite == 1
    assert math.isnan(result.smallest)
    assert not result.good
    assert "1 entries are NaN or infinite" in str(result)


@pytest.mark.parametrize("low", [-1, -3, -6])
def test_lanczos_is_within_its_stated_residual(low):
    values = torch.logspace(low, 2, 300, dtype=torch.float64)
    K = with_spectrum(values)
    result = health(K, exact_up_to=10)
    assert not result.exact
    assert math.isclose(result.largest, 100.0, rel_tol=1e-6)
    assert values[0].item() - 1e-12 <= result.smallest
    assert (values - result.smallest).abs().min().item() <= result.residual + 1e-12
    assert result.smallest - values[0].item() <= 1e-4 * 100
    assert "estimated; residual" in str(result)


def test_lanczos_says_when_it_cannot_tell():
    x = points(400, 30)
    result = health(x @ x.mT, exact_up_to=10)
    assert result.rank is None
    assert not result.good
    exact = health(x @ x.mT)
    assert exact.rank == 30
    assert abs(result.smallest - exact.smallest) <= result.residual + 1e-10


def test_lanczos_certifies_full_rank():
    result = health(with_spectrum(torch.linspace(1, 2, 200).double()), exact_up_to=10)
    assert result.rank == 200
    assert math.isclose(result.smallest, 1.0, rel_tol=1e-6)
    assert result.good


def test_the_seed_of_lanczos_is_the_callers():
    K = with_spectrum(torch.logspace(-5, 2, 300, dtype=torch.float64))
    assert health(K, exact_up_to=10, seed=1) == health(K, exact_up_to=10, seed=1)


def test_float32_has_fewer_digits_to_lose():
    K = with_spectrum(torch.logspace(-9, 0, 10, dtype=torch.float64))
    assert health(K).good
    assert not health(K.float()).good


def test_the_matrix_is_left_as_it_was():
    K = gram(polynomial, points(20, 3))
    before = K.clone()
    health(K)
    health(K, exact_up_to=5)
    assert torch.equal(K, before)


@pytest.mark.parametrize(
    "bad",
    [torch.zeros(3, 4).double(), torch.zeros(0, 0).double(), points(3, 2)],
    ids=["wide", "empty", "tall"],
)
def test_only_square_matrices(bad):
    with pytest.raises(InputError, match="expected a square floating-point matrix"):
        health(bad)
