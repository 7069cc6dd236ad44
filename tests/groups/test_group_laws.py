from __future__ import annotations

import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.groups import cyclic, dihedral, direct_product, from_table, irreps, parse, symmetric
from symscope.groups._group_laws import generating_set, law_table, orbit_labels, powers
from tests.groups.strategies import finite_groups


@given(finite_groups)
def test_every_law_agrees_with_the_permutations_of_its_group(group):
    # products of permutations are an independent source: (ab)(i) = a(b(i))
    rows = {tuple(p): i for i, p in enumerate(group.permutations.tolist())}
    for a in group.elements:
        expected = [rows[tuple(p)] for p in group.permutations[a][group.permutations].tolist()]
        assert group.law(torch.tensor(a), torch.arange(group.order)).tolist() == expected


@given(finite_groups)
def test_a_table_is_made_of_products_and_powers_of_repeated_ones(group):
    everyone = torch.arange(group.order)
    assert torch.equal(law_table(group.law), group.table)
    assert torch.equal(group.law(everyone[:, None], everyone), group.table)
    cubes = group.law(group.law(everyone, everyone), everyone)
    assert torch.equal(powers(group.law, everyone, torch.full_like(everyone, 3)), cubes)


@given(finite_groups, st.data())
def test_few_generators_reach_what_all_do(group, data):
    chosen = data.draw(st.lists(st.sampled_from(list(group.elements)), max_size=5))
    generators, reached = generating_set(group.law, torch.tensor(chosen, dtype=torch.int64))
    assert set(generators) <= set(chosen)
    assert 2 ** len(generators) <= len(reached)
    assert torch.equal(group.subgroup(generators), reached)


def test_orbits_are_numbered_by_their_first_points():
    images = torch.tensor([[0, 5, 2, 4, 3, 1], [0, 1, 2, 3, 4, 5]])
    assert orbit_labels(images).tolist() == [0, 1, 2, 3, 3, 1]


def test_laws_are_values():
    assert cyclic(6).law == cyclic(6).law != cyclic(7).law
    assert dihedral(3).law != symmetric(3).law
    assert parse("S3xC5").law == parse("S3xC5").law
    assert hash(parse("S3xC5").law) == hash(parse("S3xC5").law)
    assert from_table(cyclic(5).table).law != cyclic(5).law
    again = pickle.loads(pickle.dumps(parse("S3xD5")))
    assert again == parse("S3xD5")


@pytest.mark.parametrize("name", ["C100000", "D7515", "D65536", "C300xC400", "D100xC7xD20", "S6xC26"])
def test_large_groups_multiply_without_a_table(name, monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError("a table was made")

    monkeypatch.setattr("symscope.groups._finite_group.law_table", refuse)
    group = parse(name)
    generator = torch.Generator().manual_seed(0)
    a, b, c = torch.randint(group.order, (3, 500), generator=generator)
    assert torch.equal(group.law(group.law(a, b), c), group.law(a, group.law(b, c)))
    assert bool((group.law(a, group.inverses[a]) == group.identity).all())
    assert group.multiply(int(a[0]), group.inverse(int(a[0]))) == group.identity
    points = group.move(torch.tensor([int(a[0]), int(b[0]), group.multiply(int(a[0]), int(b[0]))]))
    assert torch.equal(points[0][points[1]], points[2])
    assert bool((powers(group.law, a, group.element_orders[a]) == group.identity).all())
    assert group == parse(name)
    assert len(group.subgroup(group.generators)) == group.order


def test_irreps_of_a_large_dihedral_group_come_from_its_structure():
    group = dihedral(7515)
    reps = irreps(group)
    assert sum(rho.dim**2 for rho in reps) == group.order
    g, h = 123, 7515 + 4001
    x = torch.randn(5, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for rho in (reps[2], reps[1000], reps[-1]):
        twice = rho.act(g, rho.act(h, x))
        torch.testing.assert_close(twice, rho.act(group.multiply(g, h), x), rtol=0, atol=1e-12)


def test_a_product_of_a_large_group_with_itself_is_refused_by_its_size():
    with pytest.raises(ValueError, match="S7xS7: expected at most 131072 elements, got 25401600"):
        direct_product(symmetric(7), symmetric(7))
