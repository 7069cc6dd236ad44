from __future__ import annotations

import pytest
import torch

from symscope import groups
from symscope.errors import InputError
from symscope.linear import OrbitRegression, extreme_rates, orbit_regression, second_moments, weight_split
from tests.linear.problems import draw
from tests.tolerances import LANCZOS


def dense(problem, project):
    """Every asymmetric rate, from matrices written out."""
    size = problem.c.numel()
    eye = torch.eye(size, dtype=torch.float64).reshape(size, *problem.c.shape)
    p = torch.stack([project(e).reshape(-1) for e in eye])
    k = torch.stack([(problem.k @ e).reshape(-1) for e in eye])
    _, vectors = torch.linalg.eigh(p)
    inside = vectors[:, torch.linalg.eigvalsh(p) > 0.5]
    return torch.linalg.eigvalsh(inside.T @ k @ inside)


@pytest.mark.parametrize("points", [9, 200])  # 9 orbits of 60 features: some are not reached
def test_both_ends_of_the_dense_spectrum(points):
    group = groups.cyclic(6)
    rep = 10 * groups.permutation(group)
    problem = orbit_regression(second_moments(draw(0, points, 60), draw(1, points)), rep)
    rates = dense(problem, lambda w: weight_split(w, rep).asymmetric)
    result = extreme_rates(problem, 4, seed=0)
    assert (result.slowest - rates[:4]).abs().max() < LANCZOS * float(rates[-1])
    assert (result.fastest - rates.flip(0)[:4]).abs().max() < LANCZOS * float(rates[-1])
    assert result.residuals.max() < 1e-6 * float(rates[-1])
    for direction in result.slowest_directions:
        assert weight_split(direction, rep).symmetric.abs().max() < LANCZOS
        assert abs(float(direction.norm()) - 1) < LANCZOS
    assert (float(result.slowest[0]) < 1e-12 * float(rates[-1])) == (points == 9)
    assert float(rates[-1] - rates[-2]) < LANCZOS * float(rates[-1]) or points == 200  # repeated rates


def test_equivariant_problems_and_groups_too_big_to_list():
    rep = groups.permutation(groups.symmetric(8))
    problem = orbit_regression(second_moments(draw(2, 30, 8), draw(3, 30, 8)), rep, rep)
    rates = dense(problem, lambda w: weight_split(w, rep, rep).asymmetric)
    result = extreme_rates(problem, 3, seed=1)
    assert result.slowest_directions.shape == (3, 8, 8)
    assert (result.slowest - rates[:3]).abs().max() < LANCZOS * float(rates[-1])
    assert (result.fastest - rates.flip(0)[:3]).abs().max() < LANCZOS * float(rates[-1])


def made(rates):
    """A problem under swaps of pairs, whose asymmetric weights decay at given rates, in a random basis."""
    rep = len(rates) * groups.permutation(groups.cyclic(2))
    eye = torch.eye(len(rates), dtype=torch.float64)
    odd = torch.kron(eye, torch.tensor([[1.0], [-1.0]], dtype=torch.float64)) / 2**0.5
    basis = odd @ torch.linalg.qr(draw(4, len(rates), len(rates))).Q
    k = basis @ torch.diag(torch.tensor(rates, dtype=torch.float64)) @ basis.T + 2 * odd.abs() @ odd.abs().T
    return OrbitRegression((k + k.T) / 2, torch.zeros(len(k), dtype=torch.float64), 0.0, rep, None)


def test_slow_rates_beside_one_that_is_zero_keep_their_digits():
    rates = [0.0, 3e-4, 0.07, *torch.linspace(0.5, 9.0, 37).tolist()]
    result = extreme_rates(made(rates), 3, seed=0)
    assert result.slowest.tolist() == pytest.approx(rates[:3], rel=1e-9, abs=1e-14)
    assert result.fastest.tolist() == pytest.approx(rates[:-4:-1], rel=1e-8)


def test_a_rate_with_more_copies_than_the_block_is_wide():
    rates = [0.2] * 9 + torch.linspace(0.5, 2.0, 22).tolist() + [5.0] * 9
    result = extreme_rates(made(rates), 2, seed=0)
    assert result.slowest.tolist() == pytest.approx([0.2, 0.2], rel=1e-9)
    assert result.fastest.tolist() == pytest.approx([5.0, 5.0], rel=1e-9)
    first, second = result.slowest_directions
    assert abs(float(first @ second)) < LANCZOS


def test_a_kernel_that_is_no_sum_of_squares_is_refused():
    with pytest.raises(InputError, match="expected a positive semi-definite K"):
        extreme_rates(made([-1.0] + [1.0] * 39), 1, seed=0)


def test_bad_input():
    rep = groups.permutation(groups.cyclic(3))
    problem = orbit_regression(second_moments(draw(0, 5, 3), draw(1, 5)), rep)
    with pytest.raises(InputError, match="at most the 2 asymmetric directions there are, got 3"):
        extreme_rates(problem, 3, seed=0)
    with pytest.raises(InputError, match="count: expected 1 to 3"):
        extreme_rates(problem, 4, seed=0)
    nothing = orbit_regression(second_moments(0 * draw(0, 5, 3), draw(1, 5)), rep)
    with pytest.raises(InputError, match="K_G is zero, and nothing decays"):
        extreme_rates(nothing, 1, seed=0)
