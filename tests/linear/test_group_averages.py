from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import groups
from symscope.data.synthetic import permuted_cube
from symscope.errors import InputError
from symscope.groups.compact import so
from symscope.groups.constructions import defining
from symscope.linear.group_averages import (
    averager,
    feature_representation,
    group_mean,
    haar_mass,
    is_orthogonal,
    reynolds,
)
from tests.linear.problems import BUILDERS, draw, problems, turned
from tests.tolerances import FOURIER, MONTE_CARLO_SIGMAS, ROUNDING

SHEARED = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.7, -1.0]]], dtype=torch.float64)


def literal(matrix, left, right=None):
    terms = [
        g.T @ matrix @ (torch.eye(matrix.shape[1]).double() if right is None else right[i])
        for i, g in enumerate(left)
    ]
    return torch.stack(terms).mean(0)


@pytest.mark.parametrize("name", sorted(BUILDERS))
@pytest.mark.parametrize("basis", ["given", "turned"])
def test_the_mean_is_the_sum_over_listed_matrices(name, basis):
    rep = BUILDERS[name]()
    rep = turned(rep, 3) if basis == "turned" else rep
    g = rep.matrices.mT  # the paper's matrices
    m = draw(1, rep.dim, rep.dim)
    assert (group_mean(m, rep, rep) - literal(m, g, g)).abs().max() < ROUNDING
    assert (group_mean(m, rep) - literal(m, g)).abs().max() < ROUNDING
    assert (group_mean(m, g, g) - literal(m, g, g)).abs().max() < ROUNDING
    assert (reynolds(rep) - g.sum(0)).abs().max() < 10 * ROUNDING
    assert (reynolds(g) - g.sum(0)).abs().max() == 0
    batch = torch.stack([m, 2 * m.T])
    assert (group_mean(batch, rep, rep)[1] - literal(2 * m.T, g, g)).abs().max() < ROUNDING


def test_groups_that_are_not_orthogonal():
    rep = feature_representation(SHEARED)
    assert not is_orthogonal(rep)
    assert not is_orthogonal(SHEARED)
    m = draw(2, 2, 2)
    assert (group_mean(m, rep, rep) - literal(m, SHEARED, SHEARED)).abs().max() < ROUNDING
    r = reynolds(rep)
    assert (r - SHEARED.sum(0)).abs().max() < ROUNDING
    assert (r - r.T).abs().max() > 0.5  # and so no orthogonal projector
    assert (r @ r / 2 - r).abs().max() < ROUNDING


def test_a_permutation_group_whose_elements_are_not_listed():
    listed = groups.symmetric(5)
    unlisted = groups.PermutationGroup("S5 by generators", listed.permutations[list(listed.generators)])
    v, w = groups.permutation(unlisted), groups.permutation(listed)
    m = draw(3, 25, 5)
    assert (group_mean(m, v * v, v) - group_mean(m, turned(w * w, 0), None)).abs().max() > 0.1
    assert (group_mean(m, v * v, v) - literal(m, (w * w).matrices.mT, w.matrices.mT)).abs().max() < ROUNDING
    assert haar_mass(v) == 120


def test_compact_groups_quadrature_and_constraints_agree_and_sampling_is_near():
    group = so(3)
    rep = defining(group) * defining(group)
    m = draw(4, 9, 9)
    exact = group_mean(m, rep, rep)
    rule = groups.haar_quadrature(group, 4)  # four matrix entries of g in each term
    assert (group_mean(m, rep, rep, rule) - exact).abs().max() < FOURIER
    too_low = groups.haar_quadrature(group, 1)
    assert (group_mean(m, rep, rep, too_low) - exact).abs().max() > 0.01
    elements = group.sample(1000, torch.Generator().manual_seed(0))
    terms = torch.stack([rep(g) @ m @ rep(g).T for g in elements])
    away = (terms.mean(0) - exact).abs() / (terms.std(0) / 1000**0.5)
    assert away.max() < MONTE_CARLO_SIGMAS + 1  # 81 comparisons
    assert haar_mass(rep) == 1
    assert (reynolds(rep, rule) - reynolds(rep)).abs().max() < FOURIER


@given(problem=problems(), seed=st.integers(0, 100))
def test_the_mean_is_invariant_and_averaging_again_changes_nothing(problem, seed):
    rep = problem.rep
    mean = group_mean(draw(seed, rep.dim, 2), rep)
    assert (group_mean(mean, rep) - mean).abs().max() < ROUNDING
    for g in problem.elements:
        assert (g.T @ mean - mean).abs().max() < FOURIER


def test_a_representation_from_the_papers_matrices():
    toy = permuted_cube(4, 0)
    rep = feature_representation(toy.group)
    assert not rep.group.is_abelian
    for g in range(6):
        assert (rep.act(g, toy.features) - toy.features @ toy.group[g]).abs().max() == 0
    a, b = 1, 3
    both = rep.act(a, rep.act(b, toy.features))
    assert (both - rep.act(rep.group.multiply(a, b), toy.features)).abs().max() < ROUNDING


def test_float32_and_many_matrices_in_turn():
    rep = groups.permutation(groups.symmetric(4))
    average = averager(rep, rep)
    m = draw(5, 4, 4)
    assert average(m.float()).dtype == torch.float32
    assert (average(m) - group_mean(m, rep, rep)).abs().max() == 0


def test_bad_input():
    rep = groups.permutation(groups.cyclic(3))
    with pytest.raises(InputError, match="the product of matrices 1 and 1 is not among the 2 given"):
        feature_representation(torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]]]))
    with pytest.raises(InputError, match="expected element 0 to be the identity"):
        feature_representation(SHEARED.flip(0))
    with pytest.raises(InputError, match="expected 3 features, as many as the symmetry acts on, got 4"):
        group_mean(draw(0, 4, 3), rep, rep)
    with pytest.raises(InputError, match="labels of length 3, as their representation acts on, got 2"):
        group_mean(draw(0, 3, 2), rep, rep)
    with pytest.raises(InputError, match="one group acting on features and labels, got C3 and C2"):
        group_mean(draw(0, 3, 2), rep, groups.permutation(groups.cyclic(2)))
    with pytest.raises(InputError, match="matrices for features and labels, or representations"):
        group_mean(draw(0, 3, 3), rep, rep.matrices)
    with pytest.raises(InputError, match="as many matrices for the labels as for the features, 3, got 2"):
        group_mean(draw(0, 3, 3), rep.matrices, rep.matrices[:2])
    with pytest.raises(InputError, match="expected real representations"):
        group_mean(draw(0, 1, 1), groups.irreps(groups.cyclic(3))[1])
    stretched = groups.constructions.from_function(so(2), 2, lambda g, x: x @ g.T, unitary=False)
    with pytest.raises(InputError, match=r"the elements of SO\(2\) are not listed: give quadrature"):
        group_mean(draw(0, 2, 2), stretched, stretched)
