from __future__ import annotations

import dataclasses
from functools import partial

import pytest
import torch

from symscope.groups import cyclic, dihedral, permutation, symmetric
from symscope.groups._group_laws import TableLaw, listed_moves
from symscope.groups.compact import so
from symscope.groups.constructions import defining, from_function
from symscope.groups.spin import spin
from symscope.testing import assert_equivariant, assert_group_laws, assert_representation


def test_group_laws_catch_each_fault():
    group = dihedral(4)
    swapped = group.table.clone()
    swapped[[1, 2]] = swapped[[2, 1]]
    with pytest.raises(AssertionError, match="D4: "):
        assert_group_laws(dataclasses.replace(group, law=TableLaw(swapped)))
    with pytest.raises(AssertionError, match="generators reach 4 of 8"):
        assert_group_laws(dataclasses.replace(group, generators=(1,)))
    with pytest.raises(AssertionError, match="only 1 of 8 permutations differ"):
        assert_group_laws(
            dataclasses.replace(group, moves=partial(listed_moves, torch.zeros(8, 1, dtype=torch.int64)))
        )
    with pytest.raises(AssertionError, match="is not their product"):
        assert_group_laws(dataclasses.replace(group, moves=partial(listed_moves, group.permutations.flip(0))))
    with pytest.raises(AssertionError, match="1 labels for 8 elements"):
        assert_group_laws(dataclasses.replace(group, labels=("e",)))


def test_representation_faults_are_measured():
    wrong_identity = from_function(cyclic(3), 2, lambda g, x: 2 * x, unitary=False)
    with pytest.raises(AssertionError, match="the identity moves vectors by 1 "):
        assert_representation(wrong_identity)
    claims = from_function(
        cyclic(2), 2, lambda g, x: x.flip(-1) * torch.tensor([2.0, 0.5]) if g else x, unitary=True
    )
    with pytest.raises(AssertionError, match="claims to be unitary"):
        assert_representation(claims)
    slow = dataclasses.replace(spin(1), derivative=defining(so(3)).derivative)
    with pytest.raises(AssertionError, match="differs from the slope"):
        assert_representation(slow)


def test_equivariance_error_and_worst_element():
    v = permutation(cyclic(4))
    x = torch.tensor([[1.0, 2.0, 4.0, 8.0]], dtype=torch.float64)
    assert assert_equivariant(lambda t: t**2, v, v, x) == 0
    assert assert_equivariant(lambda t: t.sum(-1, keepdim=True), v, None, x) < 1e-15
    weights = torch.tensor([1.0, 1.0, 1.0, 1.5], dtype=torch.float64)
    with pytest.raises(
        AssertionError, match=r"not equivariant: relative error .* worst for element 2 \(r\^2\) of C4"
    ):
        assert_equivariant(
            lambda t: t * weights, v, v, torch.tensor([[0.1, 4.0, 0.2, 4.0]], dtype=torch.float64) * x
        )
    with pytest.raises(AssertionError, match="not invariant"):
        assert_equivariant(lambda t: t[..., :1], v, None, x)
    with pytest.raises(AssertionError, match="zero on the inputs"):
        assert_equivariant(lambda t: 0 * t, v, v, x)
    with pytest.raises(AssertionError, match="relative error nan"):
        assert_equivariant(lambda t: torch.where(t[..., :1] == 1, t, float("nan")), v, v, x)


def test_equivariance_for_groups_that_are_not_listed():
    v = permutation(symmetric(12))
    x = torch.randn(2, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert assert_equivariant(lambda t: t - t.mean(-1, keepdim=True), v, v, x) < 1e-14
    rotation = defining(so(3))
    y = torch.randn(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert assert_equivariant(lambda t: t * t.norm(dim=-1, keepdim=True), rotation, rotation, y) < 1e-13
    with pytest.raises(AssertionError, match="worst for element \\[\\["):
        assert_equivariant(torch.relu, rotation, rotation, y)
