from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import groups
from symscope.errors import InputError
from symscope.groups.compact import so
from symscope.groups.constructions import defining
from symscope.linear import (
    asymmetry_loss,
    orbit_regression,
    regression_flow,
    second_moments,
    weight_split,
)
from symscope.linear.group_averages import feature_representation, reynolds
from symscope.linear.weight_parts import coupling, invariant_weights
from tests.linear.problems import draw, problems
from tests.tolerances import FOURIER, ODE, ROUNDING

SHEARED = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.7, -1.0]]], dtype=torch.float64)
TIMES = torch.tensor([0.0, 0.3, 2.0], dtype=torch.float64)


@given(problem=problems())
def test_the_parts_are_the_papers(problem):
    parts = weight_split(problem.start, problem.rep)
    r = reynolds(problem.rep)
    assert (parts.symmetric + parts.asymmetric - problem.start).abs().max() < ROUNDING
    assert (r @ parts.asymmetric).abs().max() < FOURIER * len(problem.elements)  # w_k in ker R
    assert abs(float(parts.symmetric @ parts.asymmetric)) < FOURIER * (
        1 + float(problem.start @ problem.start)
    )
    assert asymmetry_loss(lambda x: x @ parts.symmetric, problem.x, problem.rep) < FOURIER * (
        1 + float(problem.x.abs().max())
    ) * (1 + float(problem.start.abs().max()))
    by_matrices = weight_split(problem.start, problem.elements)
    assert (by_matrices.symmetric - parts.symmetric).abs().max() < ODE * 10


@given(problem=problems(equivariant=True))
def test_the_symmetric_part_of_a_matrix_commutes_with_the_group(problem):
    parts = weight_split(problem.start, problem.rep, problem.rep)
    for g in problem.elements:
        assert (parts.symmetric @ g - g @ parts.symmetric).abs().max() < FOURIER * 10
    assert abs(float((parts.symmetric * parts.asymmetric).sum())) < FOURIER * 100
    assert (
        weight_split(problem.start, problem.elements, problem.elements).symmetric - parts.symmetric
    ).abs().max() < (FOURIER)


@pytest.mark.parametrize("equivariant", [False, True])
@given(data=st.data())
def test_the_parts_evolve_independently_and_the_asymmetric_one_ignores_the_labels(equivariant, data):
    problem = data.draw(problems(equivariant))
    labels = problem.rep if equivariant else None
    result = orbit_regression(second_moments(problem.x, problem.y), problem.rep, labels)
    scale = float(torch.linalg.matrix_norm(result.k, 2))
    solution = regression_flow(result.k / scale, result.c / scale, 1e-10)
    silent = regression_flow(result.k / scale, 0 * result.c, 1e-10)
    parts = weight_split(problem.start, problem.rep, labels)
    path = weight_split(solution.weights(problem.start, TIMES), problem.rep, labels)
    size = 1 + float(problem.start.abs().max()) + float(solution.minimum.abs().max())
    alone = silent.weights(parts.asymmetric, TIMES)  # e^{-K_G t} w_k(0)
    assert (path.asymmetric - alone).abs().max() < FOURIER * size * 10
    other = solution.weights(parts.symmetric - 3 * parts.asymmetric, TIMES)
    assert (
        weight_split(other, problem.rep, labels).symmetric - path.symmetric
    ).abs().max() < FOURIER * size * 10
    assert coupling(result.k, problem.rep, labels).decoupled


@given(problem=problems())
def test_a_positive_definite_problem_ends_invariant(problem):
    x = torch.cat([problem.x, torch.eye(problem.rep.dim, dtype=torch.float64)])
    y = torch.cat([problem.y, draw(5, problem.rep.dim)])
    result = orbit_regression(second_moments(x, y), problem.rep)
    limit = regression_flow(result.k, result.c).limit(problem.start)
    assert weight_split(limit, problem.rep).asymmetric.abs().max() < FOURIER * (1 + float(limit.abs().max()))


def test_where_transposes_are_missing_the_parts_drive_each_other():
    x = draw(0, 6, 2)
    k = orbit_regression(second_moments(x, draw(1, 6)), SHEARED).k
    result = coupling(k, SHEARED)
    assert not result.decoupled
    assert result.relative > 0.01
    b = invariant_weights(SHEARED)
    p = b @ b.T
    expected = torch.linalg.matrix_norm(p @ k @ (torch.eye(2).double() - p), 2)
    assert abs(result.absolute - float(expected)) < ROUNDING
    assert "coupled: one part drives the other at up to" in result.verdict
    # measured on the flow: another symmetric start changes the path of the asymmetric part
    solution = regression_flow(k / 10, torch.zeros(2, dtype=torch.float64))
    start = draw(1, 2)
    one = weight_split(solution.weights(start, TIMES), SHEARED).asymmetric
    two = weight_split(solution.weights(start + b[:, 0], TIMES), SHEARED).asymmetric
    assert (one[0] - two[0]).abs().max() < ROUNDING
    assert (one[1] - two[1]).abs().max() > 1e-3
    # the end is invariant all the same: the minimum is unique and the loss does not change under the group
    y = torch.ones(6, dtype=torch.float64)
    problem = orbit_regression(second_moments(x, y), SHEARED)
    limit = regression_flow(problem.k, problem.c).limit(start)
    assert asymmetry_loss(lambda z: z @ limit, x, SHEARED) < FOURIER
    # which the paper's split does not see: its w_k, in ker R, is not zero there
    kernel = torch.linalg.svd(SHEARED.sum(0)).Vh[1]
    assert abs(float(kernel @ limit)) > 0.01
    assert (weight_split(limit, feature_representation(SHEARED)).asymmetric).abs().max() < FOURIER


def test_data_without_whole_orbits_are_coupled():
    rep = groups.permutation(groups.symmetric(3))
    x = draw(2, 5, 3)
    assert not coupling(x.T @ x, rep).decoupled
    assert not coupling(x.T @ x, rep, rep).decoupled
    assert coupling(0 * (x.T @ x), rep).decoupled


def test_compact_groups_and_groups_too_big_to_list():
    rep = defining(so(3)) + groups.trivial(so(3))
    w = draw(3, 2, 4)
    expected = w * torch.tensor([0.0, 0.0, 0.0, 1.0])
    assert (weight_split(w, rep).symmetric - expected).abs().max() < FOURIER
    big = groups.permutation(groups.symmetric(10))
    assert (weight_split(draw(4, 10), big).symmetric - draw(4, 10).mean()).abs().max() < ROUNDING


def test_bad_input():
    rep = groups.permutation(groups.cyclic(3))
    with pytest.raises(InputError, match="expected 3 features"):
        weight_split(draw(0, 4), rep)
    with pytest.raises(InputError, match=r"expected weights \[..., d, m\], got shape \(3,\)"):
        weight_split(draw(0, 3), rep, rep)
    with pytest.raises(InputError, match="orthogonal group for equivariant labels"):
        weight_split(draw(0, 2, 2), SHEARED, SHEARED)
    with pytest.raises(InputError, match="expected a real representation"):
        invariant_weights(groups.irreps(groups.cyclic(3))[1])
