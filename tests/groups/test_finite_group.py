from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.groups import (
    check_finite_group,
    check_subgroup,
    conjugate_indices,
    cyclic,
    dihedral,
    direct_product,
    from_matrices,
    from_table,
    irreps,
    multiplicities,
    permutation,
    symmetric,
    trivial,
)
from symscope.groups._group_laws import TableLaw
from symscope.groups.compact import so
from symscope.groups.constructions import regular
from symscope.groups.fourier import coset_fourier, fourier, inverse_coset_fourier, inverse_fourier
from symscope.groups.group_products import semidirect_product
from symscope.groups.irreducible import character_table, schur_error
from symscope.groups.subgroups import as_group, conjugacy_classes, cosets, is_normal, stabiliser
from symscope.testing import assert_group_laws
from tests.groups.strategies import finite_groups
from tests.shapes import annotations_unchecked


@given(finite_groups)
def test_every_constructor_gives_a_group(group):
    assert_group_laws(group)


@given(finite_groups)
def test_associativity_of_all_triples(group):
    if group.order > 60:
        return
    t = group.table
    assert torch.equal(t[t], t[:, t])  # (ab)c = a(bc)


@given(finite_groups)
def test_element_orders_divide_the_group(group):
    assert bool((group.order % group.element_orders == 0).all())
    for g in group.elements:
        power, count = g, 1
        while power != group.identity:
            power, count = group.multiply(power, g), count + 1
        assert count == group.element_orders[g]


@given(finite_groups)
def test_abelian_means_symmetric_table(group):
    assert group.is_abelian == torch.equal(group.table, group.table.T)


@given(finite_groups, st.data())
def test_subgroup_is_the_smallest_closed_set(group, data):
    seeds = data.draw(st.lists(st.sampled_from(list(group.elements)), max_size=2))
    closed = {0, *seeds}
    while True:
        larger = closed | {group.multiply(a, b) for a, b in itertools.product(closed, closed)}
        if larger == closed:
            break
        closed = larger
    assert set(group.subgroup(seeds).tolist()) == closed


@given(finite_groups)
def test_table_round_trip(group):
    again = from_table(group.table, name=group.name, labels=group.labels)
    assert torch.equal(again.table, group.table)
    # a table does not say the structure, which decides the order and the bases of the irreps
    assert (again == group) == isinstance(group.law, TableLaw)
    assert again == from_table(group.table, name=group.name)
    assert len(again.subgroup(again.generators)) == group.order


def test_equality_and_repr():
    assert cyclic(5) == cyclic(5)
    assert cyclic(6) != dihedral(3)
    assert hash(cyclic(5)) == hash(cyclic(5))
    assert cyclic(5) != from_table(cyclic(5).table, name="C5")
    assert direct_product(dihedral(3), cyclic(5)) == direct_product(dihedral(3), cyclic(5))
    half_known = direct_product(dihedral(3), from_table(cyclic(5).table, name="C5"))
    assert direct_product(dihedral(3), cyclic(5)) != half_known
    assert cyclic(5) != "C5"
    assert repr(dihedral(3)) == "D3 (order 6)"


def test_sampling_is_seeded_and_covers():
    drawn = cyclic(5).sample(200, torch.Generator().manual_seed(1))
    assert drawn == cyclic(5).sample(200, torch.Generator().manual_seed(1))
    assert set(drawn) == set(range(5))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0, 1], [1, 2]], r"1\*1 = 2 is outside: the set is not closed"),
        ([[0, 1, 2]], "square multiplication table, got shape"),
        ([[0, 1], [0, 1]], "every column holds every element once"),
        (torch.tensor([[0.0, 1.0], [1.0, 0.0]]), "table of integers"),
        ([[1, 0], [0, 1]], "element 1 is: reorder"),
        ([[0, 2, 1], [2, 1, 0], [1, 0, 2]], "no element is, so this is no group"),
    ],
)
def test_bad_tables(table, message):
    with pytest.raises(InputError, match=message):
        from_table(table)


def test_non_associative_table_names_a_triple():
    # a loop of order 5: a Latin square with identity that is not a group
    loop = [[0, 1, 2, 3, 4], [1, 0, 3, 4, 2], [2, 4, 0, 1, 3], [3, 2, 4, 0, 1], [4, 3, 1, 2, 0]]
    with pytest.raises(InputError, match="expected an associative table; ") as caught:
        from_table(loop)
    a, g, b = [
        int(c) for c in str(caught.value).split("; ")[1].replace("(", " ").replace(")", " ") if c.isdigit()
    ][:3]
    assert loop[loop[a][g]][b] != loop[a][loop[g][b]]


def test_bad_labels_and_elements():
    with pytest.raises(InputError, match="expected 2 labels"):
        from_table([[0, 1], [1, 0]], labels=["e"])
    with pytest.raises(InputError, match="expected elements of C4, 0 to 3, got \\[7\\]"):
        cyclic(4).subgroup([7])
    with pytest.raises(InputError, match="expected elements of C4, 0 to 3, got"):
        cyclic(4).multiply(1, -1)
    with pytest.raises(InputError, match=r"expected elements of C4, 0 to 3, got torch.float32"):
        cyclic(4).subgroup(torch.tensor([1.0]))
    with pytest.raises(InputError, match=r"samples of C4.*draw fewer"):
        cyclic(4).sample(10**12, torch.Generator())


ROWS, WHOLE, C4 = torch.ones(4), torch.zeros(4, 4, dtype=torch.int64), cyclic(4)
CALLS = (
    irreps, character_table, schur_error, conjugate_indices, conjugacy_classes, regular, permutation,
    lambda g: fourier(ROWS, g), lambda g: inverse_fourier([ROWS], g),
    lambda g: coset_fourier(ROWS, g, [0]), lambda g: inverse_coset_fourier([(ROWS, ROWS)], g, [0]),
    lambda g: check_subgroup(g, [0]), lambda g: cosets(g, [0]), lambda g: stabiliser(g, 0),
    lambda g: is_normal(g, [0]), lambda g: as_group(g, [0]), lambda g: from_matrices(g, ROWS),
    lambda g: direct_product(g, C4), lambda g: direct_product(C4, g),
    lambda g: semidirect_product(g, C4, WHOLE), lambda g: semidirect_product(C4, g, WHOLE),
)  # fmt: skip


@pytest.mark.parametrize(
    ("group", "message"),
    [
        (so(3), r"listed finite group, got SO\(3\), a compact group .* such as C8 for rotations"),
        (symmetric(9), r"got S9, which is known by generators only: list its elements with group.listed"),
        ("C4", r"got the text 'C4': read it with groups.parse\('C4'\)"),
        (4, "got int: make a group with groups.cyclic"),
    ],
)
def test_what_was_given_and_what_to_do(group, message):
    with pytest.raises(InputError, match=message):
        check_finite_group(group)


def test_a_finite_group_passes():
    group = cyclic(5)
    assert check_finite_group(group) is group


def test_representations_of_other_groups():
    with pytest.raises(InputError, match=r"listed finite group, got SO\(2\)"):
        multiplicities(trivial(so(2)))


@pytest.mark.parametrize("other", [so(2), "C4", [1, 2]], ids=repr)
def test_every_function_of_a_finite_group_asks(other):
    for call in CALLS:
        with (
            annotations_unchecked(),
            pytest.raises(InputError, match=r"^expected a listed finite group, got "),
        ):
            call(other)
