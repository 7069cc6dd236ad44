"""One cell: plain in, plain out, the same wherever it runs."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from symscope import InputError
from symscope.runs._cell import cell_key, cell_seed, result_columns, run_cell
from tests.runs.program import toy_request

values = st.integers() | st.floats(allow_nan=False) | st.text(max_size=80) | st.booleans()
parameters = st.dictionaries(st.text("abcxyz_", min_size=1, max_size=8), values, max_size=4)


@given(parameters, parameters)
def test_keys_are_unique_file_names(a, b):
    assert (cell_key(a) == cell_key(b)) == (json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True))
    assert len(cell_key(a)) < 100
    assert not set(cell_key(a)) & set("/\\\0:*?")


@given(parameters, st.integers(0, 99))
def test_seeds_fit_every_generator(a, seed):
    result = cell_seed(seed, "a/b", a)
    assert 0 <= result < 2**48
    assert result != cell_seed(seed + 1, "a/b", a)
    torch.Generator().manual_seed(result)


def test_a_cell_leaves_a_plain_record_and_no_trace():
    [task, *_] = toy_request().tasks()
    torch.set_num_threads(2)
    try:
        record = run_cell(pickle.loads(pickle.dumps(task)))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
    assert json.loads(json.dumps(record)) == record
    assert record["status"] == "done"
    assert record["tables"]["norms"]["threads"] == [1]
    assert record["tables"]["spectrum"]["index"] == [0, 0, 0]
    assert record["peak_memory"] > 2**20
    assert run_cell(task)["tables"] == record["tables"]


def test_an_exception_becomes_part_of_the_record():
    task = toy_request("fail=0").tasks()[0]
    record = run_cell(task)
    assert record["status"] == "failed"
    assert "ZeroDivisionError: cell 0 was told to fail" in record["traceback"]
    assert "toy.py" in record["traceback"]
    assert "tables" not in record


def test_numbers_of_numpy_and_torch_become_plain():
    result = result_columns(
        {"t": [{"a": np.float64(0.1), "b": torch.tensor(3), "c": [1, 2], "d": None, "e": True}]}, {"n": 1}
    )
    assert result == {"t": {"n": [1], "a": [0.1], "b": [3], "c": ["(1, 2)"], "d": [None], "e": [True]}}
    assert [type(value[0]) for value in result["t"].values()] == [int, float, int, str, type(None), bool]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"a": 1}, {"b": 1}], "expected columns \\['a'\\] in every row, got \\['b'\\]"),
        ([{"n": 1}], "columns n have the name of a cell parameter"),
        ([{"a": torch.ones(2)}], "column 'a': expected a number, text, truth value or None, got Tensor"),
        ([{"a": {}}], "got dict"),
        ([{"a": 1j}], "got complex"),
    ],
)
def test_rows_that_are_not_tidy_are_refused(rows, message):
    with pytest.raises(InputError, match=message):
        result_columns({"t": rows}, {"n": 1})


@pytest.mark.parametrize("name", ["../../evil", "a/b", "", "a.b"])
def test_tables_that_cannot_name_a_file_are_refused(name):
    with pytest.raises(InputError, match="expected a name of letters, digits, - and _; it names a file"):
        result_columns({name: [{"a": 1}]}, {"n": 1})
