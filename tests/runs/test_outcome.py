"""What a run leaves behind, readable with pandas alone."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from symscope import InputError
from symscope.runs import Verdict
from symscope.runs._outcome import RunOutcome, read_outcome
from symscope.runs._store import RunFolder
from tests.runs.program import toy_run


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return toy_run(tmp_path_factory.mktemp("runs"), "threshold=1000", "cells=4")


def test_everything_is_in_the_folder(made):
    names = {str(path.relative_to(made.folder)) for path in made.folder.rglob("*") if path.is_file()}
    assert names >= {
        "run.json",
        "environment.json",
        "claims.json",
        "figures.json",
        "summary.json",
        "timings.parquet",
        "tables/norms.parquet",
        "tables/spectrum.parquet",
        "figures/norms.svg",
        "figures/norms.png",
    }
    assert len(list((made.folder / "cells").iterdir())) == 4


def test_tables_are_tidy_and_in_the_order_of_the_cells(made):
    table = pd.read_parquet(made.folder / "tables" / "spectrum.parquet")
    assert list(table.columns) == ["index", "rank", "value"]
    assert table["index"].tolist() == [i for i in range(4) for _ in range(3)]
    assert table["value"].dtype == "float64"


def test_timings_and_memory_of_every_cell(made):
    table = pd.read_parquet(made.folder / "timings.parquet")
    assert (table["seconds"] > 0).all()
    assert (table["peak_memory"] > 2**20).all()
    assert made.seconds == pytest.approx(table["seconds"].sum())
    assert made.peak_memory == table["peak_memory"].max()


def test_claims_are_read_back_with_their_verdicts(made):
    verdicts = [claim.verdict for claim in made.claims]
    assert verdicts == [Verdict.CONTRADICTED, Verdict.HOLDS, Verdict.NOT_CHECKED, None]
    assert (made.status, made.strict_status) == (0, 1)
    assert json.loads((made.folder / "claims.json").read_text())[0]["threshold"] == ">= 1000"
    assert read_outcome(RunFolder(made.folder)) == made


def test_failures_keep_their_tracebacks(tmp_path):
    outcome = toy_run(tmp_path, "cells=3", "fail=2")
    [failure] = outcome.failures()
    assert failure["parameters"] == {"index": 2}
    assert outcome.tables()["norms"]["index"].tolist() == [0, 1]


def test_what_is_not_a_run_has_no_outcome(tmp_path):
    with pytest.raises(InputError, match="not a run folder"):
        RunOutcome.from_folder(tmp_path)
