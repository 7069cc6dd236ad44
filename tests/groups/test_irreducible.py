from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.groups import (
    FiniteGroup,
    character,
    conjugate_indices,
    cyclic,
    dihedral,
    irreps,
    multiplicities,
    parse,
    permutation,
    symmetric,
    trivial,
)
from symscope.groups._group_laws import TableLaw
from symscope.groups.compact import so
from symscope.groups.constructions import regular
from symscope.groups.irreducible import character_table, schur_error, trivial_index
from symscope.groups.named_groups import quaternion
from symscope.groups.polyhedral import octahedral
from symscope.groups.subgroups import as_group, conjugacy_classes
from symscope.testing import assert_representation
from tests.groups.strategies import finite_groups, frobenius, heisenberg
from tests.tolerances import FOURIER


@given(finite_groups)
def test_squares_of_dimensions_sum_to_the_order(group):
    result = irreps(group)
    assert sum(rho.dim**2 for rho in result) == group.order
    assert len(result) == len(conjugacy_classes(group))
    assert trivial_index(result) == 0


@given(finite_groups)
def test_schur_orthogonality(group):
    assert float(schur_error(group)) < FOURIER


@given(finite_groups)
def test_irreps_are_unitary_representations(group):
    for rho in irreps(group):
        assert rho.unitary
        assert_representation(rho, tolerance=FOURIER)


@given(finite_groups)
def test_rows_and_columns_of_the_character_table_are_orthogonal(group):
    table = character_table(group)
    weighted = table.characters * table.class_sizes
    rows = weighted @ table.characters.mH / group.order
    assert torch.allclose(rows, torch.eye(len(rows), dtype=rows.dtype), atol=FOURIER)
    columns = table.characters.mH @ table.characters
    centralisers = (group.order / table.class_sizes).to(columns.dtype)
    assert torch.allclose(columns, torch.diag(centralisers), atol=FOURIER * group.order)


@given(finite_groups)
def test_frobenius_schur_counts_square_roots_of_one(group):
    table = character_table(group)
    dims = torch.tensor([rho.dim for rho in irreps(group)])
    involutions = int((group.table.diagonal() == group.identity).sum())
    assert int((table.indicators * dims).sum()) == involutions


@given(finite_groups)
def test_real_irreps_have_real_matrices(group):
    for indicator, rho in zip(character_table(group).indicators.tolist(), irreps(group), strict=True):
        assert rho.matrices.is_complex() == (indicator != 1)


@given(finite_groups)
def test_conjugate_indices_find_the_conjugate_character(group):
    characters = [character(rho) for rho in irreps(group)]
    partner = conjugate_indices(group)
    assert sorted(partner) == list(range(len(characters)))
    for i, j in enumerate(partner):
        assert torch.allclose(characters[i].conj(), characters[j], atol=FOURIER)


def test_known_character_tables():
    s3 = character_table(symmetric(3))
    assert sorted(map(tuple, s3.characters.real.round().int().tolist())) == sorted(
        [(1, 1, 1), (1, -1, 1), (2, 0, -1)]
    )
    assert [rho.dim for rho in irreps(octahedral())] == [1, 1, 2, 3, 3]
    assert [rho.dim for rho in irreps(frobenius())] == [1, 1, 1, 3, 3]
    assert [rho.dim for rho in irreps(heisenberg())] == [1] * 9 + [3] * 2
    assert character_table(quaternion()).indicators.tolist() == [1, 1, 1, 1, -1]


def test_cyclic_characters_follow_the_fft():
    n = 6
    for k, rho in enumerate(irreps(cyclic(n))):
        expected = torch.exp(-2j * torch.pi * k * torch.arange(n, dtype=torch.float64) / n)
        assert torch.allclose(character(rho), expected, atol=1e-14)


def test_abelian_groups_without_known_factors_split_into_characters():
    klein = as_group(dihedral(4), [0, 2, 4, 6])
    assert klein.cyclic_factors is None
    assert [rho.dim for rho in irreps(klein)] == [1, 1, 1, 1]
    assert float(schur_error(klein)) < FOURIER


@given(finite_groups, st.data())
def test_multiplicities_of_sums(group, data):
    result = irreps(group)
    i, j = (data.draw(st.integers(0, len(result) - 1)) for _ in range(2))
    counts = torch.zeros(len(result), dtype=torch.int64)
    counts[i] += 2
    counts[j] += 1
    assert torch.equal(multiplicities(2 * result[i] + result[j]), counts)
    dims = torch.tensor([rho.dim for rho in result])
    assert torch.equal(multiplicities(regular(group)), dims)


def test_character_is_the_trace():
    v = permutation(symmetric(4)) * irreps(symmetric(4))[3]
    expected = torch.einsum("gii->g", v.matrices)
    assert torch.allclose(character(v).real, expected, atol=1e-12)


def test_large_product_of_small_groups():
    group = parse("S4xD6")
    assert group.order == 288
    assert float(schur_error(group)) < FOURIER


def test_large_cyclic_groups_hold_no_matrices():
    group = cyclic(2048)
    result = irreps(group)
    tables = {id(rho.listing.__self__.steps) for rho in result}
    assert len(result) == 2048
    assert len(tables) == 1
    assert conjugate_indices(group)[3] == 2045


def test_bad_input():
    with pytest.raises(InputError, match="listed finite group, got S9"):
        character(permutation(symmetric(9)))
    with pytest.raises(InputError, match="trivial one among them"):
        trivial_index(irreps(symmetric(3))[1:])
    with pytest.raises(InputError, match="listed finite group, got SO"):
        character(trivial(so(3)))
    products = torch.zeros(1, 1, dtype=torch.int64).expand(5041, 5041)
    huge = FiniteGroup("huge", TableLaw(products), (), ())
    with pytest.raises(InputError, match="at most 5040 elements to split numerically, huge has 5041"):
        irreps(huge)
