"""Blocks refuse what could not be shown."""

from __future__ import annotations

import pytest

from symscope import InputError
from symscope.report import Table, Verdict


def test_a_row_has_a_cell_for_every_column():
    with pytest.raises(InputError, match="expected 2 cells in every row, got 3"):
        Table("sizes", ("a", "b"), (("1", "2"), ("1", "2", "3")))


def test_numeric_has_an_entry_for_every_column():
    with pytest.raises(InputError, match="one entry per column or none, got 1 for 2 columns"):
        Table("sizes", ("a", "b"), (), (True,))


def test_an_outcome_is_good_bad_or_open():
    with pytest.raises(InputError, match="good, bad or open, got 'fine'"):
        Verdict("it holds", "fine", "reproduced")
