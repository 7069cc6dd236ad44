from __future__ import annotations

import pytest
import torch
from hypothesis import given

from symscope import groups
from symscope.data.synthetic import swapped_squares
from symscope.errors import InputError
from symscope.linear import orbit_regression, second_moments
from tests.linear.problems import draw, problems
from tests.tolerances import FOURIER

SHEARED = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.7, -1.0]]], dtype=torch.float64)


def completed(problem, moved_labels):
    """The data set with every orbit written out."""
    x = torch.cat([problem.x @ g for g in problem.elements])
    y = torch.cat([problem.y @ g if moved_labels else problem.y for g in problem.elements])
    return x, y


@given(problem=problems())
def test_invariant_problems_are_plain_regression_on_the_completed_data(problem):
    x, y = completed(problem, False)
    result = orbit_regression(second_moments(problem.x, problem.y), problem.rep)
    scale = float((x.T @ x).abs().max()) + 1
    assert (result.k - x.T @ x).abs().max() < FOURIER * scale
    assert (result.c - x.T @ y).abs().max() < FOURIER * scale
    direct = ((y - x @ problem.start) ** 2).sum() / 2
    assert abs(result.loss(problem.start) - direct) < FOURIER * (1 + float(direct))


@given(problem=problems(equivariant=True))
def test_equivariant_problems_are_plain_regression_on_the_completed_data(problem):
    x, y = completed(problem, True)
    result = orbit_regression(second_moments(problem.x, problem.y), problem.rep, problem.rep)
    scale = float((x.T @ x).abs().max()) + float((x.T @ y).abs().max()) + 1
    assert (result.k - x.T @ x).abs().max() < FOURIER * scale
    assert (result.c - x.T @ y).abs().max() < FOURIER * scale
    direct = ((y - x @ problem.start) ** 2).sum() / 2
    assert abs(result.loss(problem.start) - direct) < FOURIER * (1 + float(direct))
    # both commute with the group, as the paper's proof of Theorem 4.2 needs
    for g in problem.elements:
        assert (result.k @ g - g @ result.k).abs().max() < FOURIER * scale
        assert (result.c @ g - g @ result.c).abs().max() < FOURIER * scale


def test_matrices_will_do_and_labels_may_have_their_own_representation():
    toy = swapped_squares(6, 0)
    result = orbit_regression(second_moments(toy.features, toy.targets), toy.group, toy.group)
    whole = toy.completed()
    assert (result.k - whole.features.T @ whole.features).abs().max() < FOURIER
    assert (result.c - whole.features.T @ whole.targets).abs().max() < FOURIER
    group = groups.symmetric(3)
    v, sign = groups.permutation(group), groups.irreps(group)[1]
    x, y = draw(0, 5, 3), draw(1, 5, 1)
    expected = sum((x @ v(g).T).T @ (y @ sign(g).T) for g in range(6))
    signed = orbit_regression(second_moments(x, y), v, sign)
    assert (signed.c - expected).abs().max() < FOURIER


def test_invariant_labels_under_a_group_that_is_not_orthogonal():
    x, y = draw(2, 4, 2), draw(3, 4)
    whole = torch.cat([x @ g for g in SHEARED])
    result = orbit_regression(second_moments(x, y), SHEARED)
    assert (result.k - whole.T @ whole).abs().max() < FOURIER
    assert (result.c - whole.T @ y.repeat(2)).abs().max() < FOURIER


def test_bad_input():
    rep = groups.permutation(groups.cyclic(3))
    x = draw(0, 4, 3)
    with pytest.raises(
        InputError, match=r"orthogonal group for equivariant labels \(Assumption 5\); it is not on "
    ):
        orbit_regression(second_moments(draw(0, 4, 2), draw(1, 4, 2)), SHEARED, SHEARED)
    with pytest.raises(
        InputError, match=r"expected labels \[n, 3\], as their representation acts on, got single"
    ):
        orbit_regression(second_moments(x, draw(1, 4)), rep, rep)
    with pytest.raises(InputError, match=r"which have 3 components: trivial\(group, 3\)"):
        orbit_regression(second_moments(x, x), rep)
    with pytest.raises(InputError, match="labels of length 3, as their representation acts on, got 2"):
        orbit_regression(second_moments(x, draw(1, 4, 2)), rep, rep)
    with pytest.raises(InputError, match=r"expected labels as \[4\] or \[4, m\]"):
        orbit_regression(second_moments(x, draw(1, 5)), rep)
    with pytest.raises(InputError, match="expected 3 features"):
        orbit_regression(second_moments(draw(0, 4, 2), draw(1, 4)), rep)
