from __future__ import annotations

import math

import pytest
import torch

from symscope import data, groups
from symscope.data.vectors import linear_action
from symscope.errors import InputError
from symscope.groups.compact import o, so
from symscope.groups.constructions import defining, regular
from symscope.linear._weighted_elements import (
    act,
    act_inverse,
    check_matrices,
    random_elements,
    weighted_elements,
)
from tests.tolerances import ROUNDING

SHEARED = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.7, -1.0]]], dtype=torch.float64)
X = torch.tensor([[1.0, 2.0], [3.0, -5.0]], dtype=torch.float64)


def test_weights_add_up_to_one():
    rule = groups.haar_quadrature(o(3), 3)
    every = [
        weighted_elements(SHEARED),
        weighted_elements(regular(groups.symmetric(3))),
        weighted_elements(data.rotation(4)),
        weighted_elements(defining(o(3)), rule),
    ]
    for elements, count in zip(every, (2, 6, 4, len(rule.weights)), strict=True):
        weights = [weight for _, weight in elements]
        assert len(weights) == count
        assert abs(sum(weights) - 1) < ROUNDING


@pytest.mark.parametrize(
    "symmetry",
    [SHEARED, groups.permutation(groups.cyclic(2)), linear_action(groups.permutation(groups.cyclic(2)))],
    ids=["matrices", "representation", "action"],
)
def test_moved_back_undoes_moved(symmetry):
    there = act(symmetry, 1, X)
    assert not torch.equal(there, X)
    assert (act_inverse(symmetry, 1, there) - X).abs().max() < ROUNDING


def test_matrices_act_from_the_right():
    assert torch.equal(act(SHEARED, 1, X), X @ SHEARED[1])


def test_draws_are_uniform_and_repeat():
    assert (
        random_elements(SHEARED, 50, 3) == random_elements(SHEARED, 50, 3) != random_elements(SHEARED, 50, 4)
    )
    counts = torch.bincount(torch.tensor(random_elements(data.rotation(4), 4000, 0)))
    assert (counts - 1000).abs().max() < 4 * math.sqrt(750)


def test_bad_input():
    with pytest.raises(InputError, match="matrices of side 3, as the vectors are long, got 2"):
        act(SHEARED, 0, torch.ones(1, 3, dtype=torch.float64))
    with pytest.raises(InputError, match=r"as \[order, d, d\], got shape \(1, 2, 3\)"):
        check_matrices(torch.ones(1, 2, 3))
    with pytest.raises(InputError, match="expected real, finite matrices"):
        check_matrices(torch.full((1, 2, 2), math.nan))
    with pytest.raises(InputError, match=r"the elements of SO\(3\) are not listed"):
        weighted_elements(defining(so(3)))
    with pytest.raises(InputError, match="made for another group"):
        weighted_elements(defining(so(3)), groups.haar_quadrature(so(2), 3))
    with pytest.raises(InputError, match="samples: expected at least 2"):
        random_elements(SHEARED, 1, 0)
