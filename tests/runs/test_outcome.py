"""What a run leaves behind, readable with pandas alone."""

from __future__ import annotations

import json
import shutil

import pandas as pd
import pytest

from symscope import InputError
from symscope.runs import Verdict
from symscope.runs._outcome import RunOutcome, read_outcome, redraw_run
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


def test_an_unfinished_run_has_no_outcome(tmp_path):
    assert read_outcome(RunFolder(tmp_path)) is None
    with pytest.raises(InputError, match="not a run folder"):
        RunOutcome.from_folder(tmp_path)


def test_plots_and_claims_are_made_anew_from_the_cells(made, tmp_path):
    copied = tmp_path / made.folder.name
    shutil.copytree(made.folder, copied)
    shutil.rmtree(copied / "figures")
    (copied / "summary.json").unlink()
    again = redraw_run(copied)
    assert again.claims == made.claims
    assert (copied / "figures" / "norms.png").read_bytes() == (
        made.folder / "figures" / "norms.png"
    ).read_bytes()
    summary = copied / "summary.json"
    old = "2020-02-02T02:02:02+00:00"
    summary.write_text(json.dumps(json.loads(summary.read_text()) | {"finished": old}))
    redraw_run(copied)
    assert json.loads(summary.read_text())["finished"] == old  # when it was run, not when it was drawn
    next((copied / "cells").iterdir()).unlink()
    with pytest.raises(InputError, match="1 cells are not there yet"):
        redraw_run(copied)


@pytest.mark.parametrize(
    ("name", "content"),
    [("summary.json", '{"cells": '), ("summary.json", "{}"), ("claims.json", ""), ("figures.json", "[1]")],
)
def test_damaged_closing_files_are_written_anew_from_the_cells(tmp_path, name, content):
    made = toy_run(tmp_path, "cells=3")
    (made.folder / name).write_text(content)
    assert read_outcome(RunFolder(made.folder)) is None
    assert toy_run(tmp_path, "cells=3").claims == made.claims
    (made.folder / "figures" / "norms.svg").unlink()
    assert read_outcome(RunFolder(made.folder)) is None
    assert redraw_run(made.folder).claims == made.claims
    assert (made.folder / "figures" / "norms.svg").is_file()


def test_a_run_that_is_being_worked_on_is_not_redrawn(made, tmp_path):
    copied = tmp_path / made.folder.name
    shutil.copytree(made.folder, copied)
    with RunFolder(copied).lock(), pytest.raises(InputError, match="another process"):
        redraw_run(copied)
