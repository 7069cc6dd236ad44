"""JSON from anywhere: what a run writes comes back, what it never writes is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscope import InputError
from symscope.runs._stored_json import NUMBER, check_fields, parsed_json

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=15,
)


@given(plain)
def test_what_was_written_comes_back(value):
    assert parsed_json(json.dumps(value).encode()) == value


@given(st.binary(max_size=40) | st.text('[]{}",: 019.eE-tru\\dN', max_size=12).map(str.encode))
def test_any_bytes_are_refused_or_values_that_can_be_written_and_read_again(content):
    try:
        value = parsed_json(content)
    except InputError:
        return
    written = json.dumps(value, ensure_ascii=False)
    assert json.dumps(parsed_json(written.encode()), ensure_ascii=False) == written


@pytest.mark.parametrize(
    "content",
    [b"", b"[" * 10**5, b"[" * 21 + b"]" * 21, b'{"a":' * 21 + b"1" + b"}" * 21, b"9" * 5000, b'"\\ud800"'],
)
def test_what_no_run_writes_is_refused(content):
    with pytest.raises(InputError, match="expected JSON"):
        parsed_json(content)


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (int, [0, -3, 2**70], [True, 1.0, "1", None, 10**400]),
        (NUMBER, [0, 0.5], [True, float("nan"), float("inf"), -(10**400), "1"]),
        (str, ["", "a"], [None, 1, ["a"]]),
        (str | None, ["a", None], [1, False]),
        (list[str], [[], ["a"]], [None, [1], "a", {}]),
        (dict, [{}, {"a": 1}], [None, []]),
    ],
)
def test_fields_have_their_type(kind, good, bad):
    for value in good:
        assert check_fields({"x": value}, {"x": kind}) == {"x": value}
    for value in bad:
        with pytest.raises(InputError, match="expected a field 'x' of type"):
            check_fields({"x": value}, {"x": kind})


def test_fields_that_are_missing_are_named():
    with pytest.raises(InputError, match="expected a field 'x' of type int, got none"):
        check_fields({}, {"x": int})
    with pytest.raises(InputError, match=r"expected fields x, y, got \[1\]"):
        check_fields([1], {"x": int, "y": str})
