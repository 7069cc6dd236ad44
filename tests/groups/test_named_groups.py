from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.groups import PermutationGroup, cyclic, dihedral, parse, symmetric
from symscope.groups.named_groups import alternating, quaternion
from symscope.groups.polyhedral import octahedral
from symscope.groups.subgroups import conjugacy_classes


@pytest.mark.parametrize("n", range(1, 6))
def test_orders(n):
    assert cyclic(n).order == n
    assert dihedral(n).order == 2 * n
    assert symmetric(n).order == math.factorial(n)
    assert alternating(n).order == max(1, math.factorial(n) // 2)


def test_dihedral_relations_and_corners():
    g, r, s = dihedral(7), 1, 7
    assert g.multiply(s, r) == g.multiply(g.inverse(r), s)
    assert g.multiply(r, s) == 8  # r^k s stands at n + k
    assert g.permutations[r].tolist() == [1, 2, 3, 4, 5, 6, 0]
    assert g.permutations[s].tolist() == [0, 6, 5, 4, 3, 2, 1]


def test_quaternion_products():
    q = quaternion()
    named = {label: i for i, label in enumerate(q.labels)}
    for a, b, c in (("i", "j", "k"), ("j", "k", "i"), ("k", "i", "j")):
        assert q.multiply(named[a], named[b]) == named[c]
        assert q.multiply(named[b], named[a]) == named["-" + c]
    assert q.multiply(named["i"], named["i"]) == named["-1"]


def test_cube_rotations_are_proper_and_isomorphic_to_s4():
    o = octahedral()
    assert torch.allclose(torch.linalg.det(o.matrices), torch.ones(24, dtype=torch.float64))
    assert sorted(o.element_orders.tolist()) == sorted(symmetric(4).element_orders.tolist())
    sizes = sorted(len(c) for c in conjugacy_classes(o))
    assert sizes == sorted(len(c) for c in conjugacy_classes(symmetric(4)))


def test_symmetric_is_lexicographic_and_labelled_in_cycles():
    s3 = symmetric(3)
    assert s3.permutations.tolist() == [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    assert s3.labels == ("e", "(1 2)", "(0 1)", "(0 1 2)", "(0 2 1)", "(0 2)")


def test_large_ones_are_generated_not_listed():
    assert isinstance(symmetric(10), PermutationGroup)
    assert symmetric(12).order == math.factorial(12)
    assert isinstance(alternating(9), PermutationGroup)
    assert alternating(9).order == math.factorial(9) // 2
    assert isinstance(alternating(8), PermutationGroup)
    assert alternating(8).order == math.factorial(8) // 2


@pytest.mark.parametrize("make", [cyclic, dihedral, symmetric, alternating])
def test_sizes_must_be_positive(make):
    with pytest.raises(InputError, match=r"expected an integer from 1 to .*, got 0"):
        make(0)


@pytest.mark.parametrize(("make", "largest"), [(cyclic, 131_072), (dihedral, 65_536), (symmetric, 1000)])
def test_sizes_are_bounded(make, largest):
    assert make(largest).name[1:] == str(largest)
    for n in (largest + 1, 10**5000):
        with pytest.raises(InputError, match=f"expected an integer from 1 to {largest}, got"):
            make(n)


def test_a_table_that_does_not_fit_is_refused_when_it_is_asked_for():
    with pytest.raises(InputError, match=r"16386 x 16386 products of D8193: expected at most 2.15 GB"):
        _ = dihedral(8193).table
    with pytest.raises(InputError, match=r"100000 x 100000 products of C100000.*got 80 GB"):
        _ = cyclic(100_000).permutations
    with pytest.raises(InputError, match="40000 permutations of 20000 points by D20000"):
        _ = dihedral(20_000).permutations


finite_names = st.one_of(
    st.builds("{}{}".format, st.sampled_from("CDSA"), st.integers(1, 5)), st.sampled_from(["Q8", "O"])
)
compact_names = st.one_of(
    st.builds("{}({})".format, st.sampled_from(["SO", "O"]), st.integers(1, 5)),
    st.builds("T{}".format, st.integers(1, 3)),
)


@given(st.lists(finite_names, min_size=1, max_size=2))
def test_names_round_trip(parts):
    name = "x".join(parts)
    group = parse(name)
    assert group.name == name
    assert parse(group.name) == group


@given(st.lists(st.one_of(compact_names, finite_names), min_size=1, max_size=3))
def test_mixed_names_round_trip(parts):
    name = "x".join(parts)
    if len(parts) > 1 and all(p[0] in "CDSAQ" or p == "O" for p in parts):
        return  # finite products are covered above, and three factors may be large
    assert parse(name).name == name
    assert parse(parse(name).name) == parse(name)


def test_synonyms_and_spaces():
    assert parse("Z14xZ14").name == "C14xC14"
    assert parse(" C3 x C4 ").name == "C3xC4"
    assert parse("S10").name == "S10"
    assert parse("C2xC3xC4").cyclic_factors == (2, 3, 4)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("c8", "did you mean 'C8'"),
        ("D_4", "did you mean 'D4'"),
        ("so3", "did you mean 'SO\\(3\\)'"),
        ("SO3", "did you mean 'SO\\(3\\)'"),
        ("Sym(3)", "did you mean 'S3'"),
        ("Z_8", "did you mean 'C8'"),
        ("C4*C4", "did you mean 'C4xC4'"),
        ("Q9", "did you mean 'Q8'"),
        ("banana", "names are C<n>, D<n>"),
        ("", "names are"),
        ("C4xx", "names are"),
        ("C0", "expected an integer from 1"),
    ],
)
def test_wrong_names_get_a_suggestion(text, hint):
    with pytest.raises(InputError, match=hint):
        parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("T999999", "expected at most 67.11 MB"),
        ("SO(999999)", "expected at most 67.11 MB"),
        ("O(999999)", "expected at most 67.11 MB"),
        ("x".join(["C2"] * 18), "expected at most 131072 elements, got 262144"),
        ("x".join(["C4"] * 40), "expected at most 131072 elements"),
        ("S7xS7", "expected at most 131072 elements, got 25401600"),
        ("x".join(["SO(2)"] * 300), "at most 128 characters, got 1799, beginning"),
        ("x".join(["T1"] * 2000), "at most 128 characters"),
        ("C" + "9" * 5000, "at most 128 characters, got 5001"),
        ("C" + "9" * 100, "expected an integer from 1 to 131072"),
    ],
)
def test_what_is_too_large_is_refused_before_it_is_built(text, message):
    with pytest.raises(InputError, match=message) as caught:
        parse(text)
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


def test_large_groups_with_structure_are_built():
    assert parse("x".join(["C2"] * 15)).order == 2**15
    assert parse("C100000").order == 100_000
    assert parse("D7515").order == 15_030
    assert parse("x".join(["SO(2)"] * 20)).dimension == 20
