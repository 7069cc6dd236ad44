from __future__ import annotations

import pytest
import torch

from symscope import groups
from symscope.errors import InputError
from symscope.linear import extreme_rates, orbit_regression, second_moments, split
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
    rates = dense(problem, lambda w: split(w, rep).asymmetric)
    found = extreme_rates(problem, 4, seed=0)
    assert (found.slowest - rates[:4]).abs().max() < LANCZOS * float(rates[-1])
    assert (found.fastest - rates.flip(0)[:4]).abs().max() < LANCZOS * float(rates[-1])
    assert found.residuals.max() < 1e-6 * float(rates[-1])
    for direction in found.slowest_directions:
        assert split(direction, rep).symmetric.abs().max() < LANCZOS
        assert abs(float(direction.norm()) - 1) < LANCZOS
    assert (float(found.slowest[0]) < 1e-12 * float(rates[-1])) == (points == 9)
    assert float(rates[-1] - rates[-2]) < LANCZOS * float(rates[-1]) or points == 200  # repeated rates


def test_equivariant_problems_and_groups_too_big_to_list():
    rep = groups.permutation(groups.symmetric(8))
    problem = orbit_regression(second_moments(draw(2, 30, 8), draw(3, 30, 8)), rep, rep)
    rates = dense(problem, lambda w: split(w, rep, rep).asymmetric)
    found = extreme_rates(problem, 3, seed=1)
    assert found.slowest_directions.shape == (3, 8, 8)
    assert (found.slowest - rates[:3]).abs().max() < LANCZOS * float(rates[-1])
    assert (found.fastest - rates.flip(0)[:3]).abs().max() < LANCZOS * float(rates[-1])


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
