from __future__ import annotations

import torch
from hypothesis import given

from symscope.groups import character, cyclic, dihedral, from_table, irreps, symmetric
from symscope.groups._splitting import _products, split_regular
from symscope.groups.named_groups import quaternion
from symscope.testing import assert_representation
from tests.groups.strategies import finite_groups
from tests.tolerances import FOURIER


@given(finite_groups)
def test_rounds_of_products_reach_every_element_once(group):
    direct, rounds = _products(group)
    known = direct.tolist()
    for new, left, right in rounds:
        assert set(left.tolist()) | set(right.tolist()) <= set(known)
        assert torch.equal(group.table[left, right], new)
        known += new.tolist()
    assert sorted(known) == list(group.elements)


def test_products_of_many_elements_are_as_accurate():
    group = dihedral(150)  # of 300 elements, most are products
    assert _products(group)[1]
    result = irreps(group)
    assert [rho.dim for rho in result] == [1] * 4 + [2] * 74
    for rho in result[::15]:
        assert_representation(rho, tolerance=FOURIER)
    turn = 2 * torch.pi / 150
    halves = sorted(float(character(rho)[1].real) for rho in result[4:])
    expected = sorted(2 * torch.cos(turn * torch.arange(1, 75, dtype=torch.float64)))
    assert torch.allclose(torch.tensor(halves, dtype=torch.float64), torch.stack(expected), atol=FOURIER)


def test_the_order_does_not_depend_on_the_attempt():
    for group in (symmetric(4), quaternion(), from_table(cyclic(12).table)):
        first, second = split_regular(group, seed=0), split_regular(group, seed=1)
        for a, b in zip(first, second, strict=True):
            assert a.name == b.name
            assert torch.allclose(character(a), character(b), atol=FOURIER)
