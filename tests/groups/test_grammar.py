from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscope.errors import InputError
from symscope.groups import parse

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
        ("C0", "expected a positive size"),
    ],
)
def test_wrong_names_get_a_suggestion(text, hint):
    with pytest.raises(InputError, match=hint):
        parse(text)
