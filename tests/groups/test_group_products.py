from __future__ import annotations

import dataclasses

import pytest
import torch
from hypothesis import given

from symscope.errors import InputError
from symscope.groups import cyclic, dihedral, direct_product, irreps, parse, symmetric
from symscope.groups.group_products import semidirect_product
from symscope.testing import assert_group_laws
from tests.groups.strategies import simple_groups


@given(simple_groups, simple_groups)
def test_direct_product_multiplies_factor_by_factor(left, right):
    if left.order * right.order > 150:
        return
    product = direct_product(left, right)
    assert_group_laws(product)
    m = right.order
    for x in range(0, product.order, 5):
        for y in range(0, product.order, 7):
            expected = left.multiply(x // m, y // m) * m + right.multiply(x % m, y % m)
            assert product.multiply(x, y) == expected


def test_translations_of_a_torus():
    group = direct_product(cyclic(3), cyclic(5))
    assert group.name == "C3xC5"
    assert group.cyclic_factors == (3, 5)
    assert direct_product(cyclic(3), dihedral(3)).cyclic_factors is None


@pytest.mark.parametrize("names", [("S3", "C2", "C3"), ("C2", "C3", "C2"), ("C2", "C2", "D3")])
def test_brackets_do_not_matter(names):
    a, b, c = (parse(name) for name in names)
    group = direct_product(a, direct_product(b, c))
    assert group == direct_product(direct_product(a, b), c) == parse("x".join(names))
    assert [rho.name for rho in irreps(group)] == [rho.name for rho in irreps(parse("x".join(names)))]


def test_a_product_with_a_name_of_its_own_keeps_it():
    klein = dataclasses.replace(direct_product(cyclic(2), cyclic(2)), name="V")
    assert direct_product(symmetric(3), klein).name == "S3xV"


def test_dihedral_is_a_semidirect_product():
    n = 9
    inversion = torch.stack([torch.arange(n), -torch.arange(n) % n])
    made = semidirect_product(cyclic(n), cyclic(2), inversion)
    assert_group_laws(made)
    # (a, g) stands at 2a + g here, r^a s^g at a + n g in dihedral
    a, g = torch.arange(2 * n) // 2, torch.arange(2 * n) % 2
    there = a + n * g
    assert torch.equal(there[made.table], dihedral(n).table[there][:, there])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0, 1, 2]], r"shape \(2, 3\)"),
        ([[0, 1, 2], [0, 0, 0]], "row 1 to permute"),
        ([[0, 1, 2], [1, 2, 0]], "row 1 to be an automorphism"),
    ],
)
def test_bad_automorphisms(rows, message):
    with pytest.raises(InputError, match=message):
        semidirect_product(cyclic(3), cyclic(2), torch.tensor(rows))


def test_automorphisms_must_compose():
    doubling = torch.stack([torch.arange(7) * p % 7 for p in (1, 2)])  # of order 3, not 2
    with pytest.raises(InputError, match="compose as C2 does; applying r then r"):
        semidirect_product(cyclic(7), cyclic(2), doubling)
    inner = torch.stack(
        [symmetric(3).table[symmetric(3).table[g]][:, symmetric(3).inverses[g]] for g in range(6)]
    )
    assert inner.shape == (6, 6)
    assert semidirect_product(symmetric(3), symmetric(3), inner).order == 36
