"""Two runs side by side."""

from __future__ import annotations

import pytest

from symscope import InputError
from symscope.runs import RunRequest, Workers, run_experiments
from symscope.runs._run_comparison import compare_runs
from tests.runs.program import toy_run


def test_equal_runs_are_equal_and_others_say_where_they_differ(tmp_path):
    base = toy_run(tmp_path / "a", "cells=3").folder
    same = compare_runs(base, toy_run(tmp_path / "b", "cells=3").folder)
    assert same.same
    assert same.settings == ()
    assert {difference for *_, difference in same.tables} == {"equal"}

    other = compare_runs(base, toy_run(tmp_path / "a", "cells=3", "threshold=1000", seed=1).folder)
    assert not other.same
    assert other.settings == (("seed", "0", "1"), ("threshold", "1.0", "1000.0"))
    result = {(table, column): difference for table, column, difference in other.tables}
    assert result["norms", "index"] == "equal"
    assert result["norms", "norm"].startswith("largest difference ")
    statement, a, b = other.claims[0]
    assert statement == "Random matrices have a norm."
    assert (a.split(" (")[0], b.split(" (")[0]) == ("holds", "contradicted")

    longer = compare_runs(base, toy_run(tmp_path / "a", "cells=4").folder)
    assert ("norms", "(rows)", "3 and 4: not compared") in longer.tables


def test_what_cannot_be_compared_is_refused(tmp_path):
    base = toy_run(tmp_path, "cells=3").folder
    [other] = run_experiments(
        [RunRequest.of("spectral/missing", changes=["counts=1"], device="cpu")],
        tmp_path,
        Workers(processes=0),
    )
    with pytest.raises(InputError, match="only runs of one experiment"):
        compare_runs(base, other.folder)
    with pytest.raises(InputError, match="not a run folder"):
        compare_runs(base, tmp_path)
    (other.folder / "summary.json").unlink()
    with pytest.raises(InputError, match="is not finished: continue it with `symscope reproduce"):
        compare_runs(other.folder, other.folder)
