from __future__ import annotations

import pytest
import torch
from hypothesis import given

from symscope import groups
from symscope.data.synthetic import absolute_value, swapped_squares
from symscope.errors import InputError
from symscope.groups.compact import so
from symscope.groups.constructions import defining
from symscope.linear import regression_assumptions
from symscope.linear.group_averages import feature_representation
from tests.linear.problems import draw, problems

SHEARED = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.7, -1.0]]], dtype=torch.float64)


@given(problem=problems())
def test_completed_orbits_hold_and_one_missing_point_fails(problem):
    x = torch.cat([problem.x @ g for g in problem.elements])
    y = problem.y.repeat(len(problem.elements))
    verdicts = regression_assumptions(x, y, problem.rep, tolerance=1e-7)
    assert [a.number for a in verdicts] == [1, 2, 3, 4, 5]
    assert [a.holds for a in verdicts] == [True, None, True, None, None]
    moved = (problem.x[0] - problem.x[0] @ problem.elements.mean(0)).norm() > 1e-3 * problem.x[0].norm()
    if moved and len(problem.x) > 1:  # its orbit has more than one point
        broken = regression_assumptions(x[1:], y[1:], problem.rep, tolerance=1e-7)
        assert broken[0].holds is False
        assert "fails" in broken[0].verdict
    other = y.clone()
    other[0] += 1 + y.abs().max()
    if moved:
        assert regression_assumptions(x, other, problem.rep, tolerance=1e-7)[0].holds is False


def test_points_that_are_there_more_often_are_seen_in_the_moments():
    toy = absolute_value(6, 0)
    whole = toy.completed()
    x = torch.cat([whole.features, whole.features[:3]])
    y = torch.cat([whole.targets, whole.targets[:3]])
    result = regression_assumptions(x, y, toy.group)[0]
    assert result.holds is False
    assert "some points are there more often" in result.verdict


def test_equivariant_data_need_the_other_two():
    toy = swapped_squares(5, 0)
    whole = toy.completed()
    verdicts = regression_assumptions(whole.features, whole.targets, toy.group, toy.group, learning_rate=1e-3)
    assert [a.holds for a in verdicts] == [None, True, None, True, True]
    assert "not needed: it is about invariant labels" in verdicts[0].verdict
    assert "descent follows the flow" in verdicts[1].verdict
    noisy = whole.noisy(0.1, 0)
    verdicts = regression_assumptions(noisy.features, noisy.targets, toy.group, toy.group, learning_rate=1.0)
    assert [a.holds for a in verdicts] == [None, False, None, False, True]
    assert "diverges" in verdicts[1].verdict
    rep = feature_representation(toy.group)
    assert regression_assumptions(whole.features, whole.targets, rep, rep)[4].holds


def test_the_shear_counter_example_is_detected():
    for symmetry in (SHEARED, feature_representation(SHEARED)):
        x = draw(0, 4, 2)
        whole = torch.cat([x @ g for g in SHEARED])
        verdicts = regression_assumptions(whole, torch.ones(8, dtype=torch.float64), symmetry)
        assert verdicts[0].holds
        assert verdicts[2].holds is False
        assert "transposes of 1 of 2 elements are not among them" in verdicts[2].verdict
        assert verdicts[2].measured == pytest.approx(0.7 * 2**0.5)
    labels = regression_assumptions(whole, whole, SHEARED, SHEARED)
    assert labels[3].holds
    assert labels[4].holds is False
    assert "some element stretches" in labels[4].verdict


def test_unlisted_groups_and_many_points():
    rep = groups.permutation(groups.symmetric(9))
    constant = torch.ones(5000, 9, dtype=torch.float64) * draw(1, 5000, 1)
    first = regression_assumptions(constant, constant.sum(1), rep)[0]
    assert first.holds
    assert "(the first 4096 of 5000 were moved)" in first.verdict


def test_bad_input():
    rep = groups.permutation(groups.cyclic(3))
    with pytest.raises(InputError, match="a label for each of 4 points, got 3"):
        regression_assumptions(draw(0, 4, 3), draw(1, 3), rep)
    with pytest.raises(InputError, match=r"no data set holds a whole orbit of SO\(3\)"):
        regression_assumptions(draw(0, 4, 3), draw(1, 4), defining(so(3)))
    with pytest.raises(InputError, match="expected 3 features"):
        regression_assumptions(draw(0, 4, 2), draw(1, 4), rep)
