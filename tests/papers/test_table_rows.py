"""Rows from columns: every entry once, in its own type."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope_papers.table_rows import rows_of


@given(st.lists(st.tuples(st.integers(-5, 5), st.booleans()), min_size=1, max_size=6))
def test_rows_hold_what_columns_held(pairs):
    numbers, flags = (torch.tensor(column) for column in zip(*pairs, strict=True))
    rows = rows_of({"number": numbers, "flag": flags}, run="a")
    assert rows == [{"run": "a", "number": number, "flag": flag} for number, flag in pairs]


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        rows_of({"a": torch.zeros(2), "b": torch.zeros(1)})
