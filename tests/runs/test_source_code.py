"""Which code made a cell: edits of a user's own experiment are seen, and told when earlier cells are kept."""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from symscope.runs import RunRequest, Workers, run_experiments
from symscope.runs._cell import run_cell
from symscope.runs._closing import close
from symscope.runs._registry import find_experiment
from symscope.runs._source_code import source_fingerprint
from symscope.runs._store import RunFolder
from symscope.user_code import load_user_module
from tests.cli.test_app import called
from tests.runs.program import TOY, toy_request, toy_run

SOURCE = Path(TOY).read_text(encoding="utf-8")


@pytest.fixture
def mine(tmp_path):
    """A user's own file."""
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    return path


def edited(path: Path, text: str) -> None:
    """Change a file and forget what was loaded from it, as a new process does."""
    sys.modules.pop(load_user_module("--module", str(path)).__name__)
    path.write_text(text)


def mine_run(path: Path, *, warn=pytest.fail, **options):
    asked = RunRequest.of("toy/matrices", device="cpu", changes=["cells=3"], modules=[str(path)])
    [outcome] = run_experiments([asked], path.parent / "runs", Workers(processes=0), warn=warn, **options)
    return outcome


def test_code_is_that_of_the_users_own_modules(mine):
    first = source_fingerprint(find_experiment("toy/matrices", [str(mine)]))
    assert first == source_fingerprint(find_experiment("toy/matrices", [TOY]))  # wherever the file lies
    assert len(first) == 12
    edited(mine, SOURCE.replace("randn(40, 40", "randn(50, 50"))
    assert source_fingerprint(find_experiment("toy/matrices", [str(mine)])) != first
    assert source_fingerprint(find_experiment("spectral/missing")) is None


def test_code_is_found_through_partials_and_missed_without_a_file():
    toy, shipped = find_experiment("toy/matrices", [TOY]), find_experiment("spectral/missing")
    borrowed = replace(shipped, id="toy/borrowed")
    assert source_fingerprint(borrowed) is None
    assert source_fingerprint(replace(borrowed, measure=partial(toy.measure))) == source_fingerprint(toy)
    scope = {"__name__": "typed_in"}
    exec("def measure(config, cell, context): return {}", scope)
    assert source_fingerprint(replace(borrowed, measure=scope["measure"])) is None


def test_a_record_says_which_code_made_it():
    record = run_cell(toy_request().tasks()[0])
    assert record["code"] == source_fingerprint(find_experiment("toy/matrices", [TOY]))
    shipped = RunRequest.of("spectral/missing", changes=["counts=1", "patterns=2"], device="cpu").tasks()[0]
    assert run_cell(shipped)["code"] is None


def test_cells_of_earlier_code_are_kept_and_told(mine):
    folder = mine_run(mine).folder
    mine_run(mine)
    edited(mine, SOURCE.replace("randn(40, 40", "randn(50, 50"))
    next((folder / "cells").iterdir()).unlink()
    reported = []
    mine_run(mine, warn=reported.append)
    assert reported == [
        "toy/matrices: 2 of 2 finished cells were made with earlier code of this experiment and are kept; "
        "--fresh makes them anew"
    ]
    reported.clear()
    mine_run(mine, warn=reported.append)
    assert reported[0].startswith("toy/matrices: 2 of 3 finished cells")
    mine_run(mine, fresh=True)
    mine_run(mine)


def test_library_users_are_warned_too(mine):
    mine_run(mine)
    edited(mine, SOURCE + "\n")
    asked = RunRequest.of("toy/matrices", device="cpu", changes=["cells=3"], modules=[str(mine)])
    with pytest.warns(UserWarning, match="3 of 3 finished cells were made with earlier code"):
        run_experiments([asked], mine.parent / "runs", Workers(processes=0))


def test_folders_without_it_are_read_as_before(tmp_path):
    outcome = toy_run(tmp_path, "cells=3")
    known = {"experiment", "version", "symscope", "config", "seed", "device"}
    assert set(toy_request().identity) == known  # the folder's name does not follow from the code
    folder = RunFolder(outcome.folder)
    for path in (outcome.folder / "cells").iterdir():
        record = json.loads(path.read_text())["record"]
        del record["code"]
        folder.save_cell(record)
    close(toy_request("cells=3"), folder)  # with the checksums of these cells
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert toy_run(tmp_path, "cells=3") == outcome


def test_the_program_tells_in_one_line(mine, capsys):
    words = ("reproduce", "toy/matrices", "--module", str(mine), "--device", "cpu", "--workers", "0")
    out = ("--out", str(mine.parent / "runs"))
    assert called(*words, *out) == 0
    assert capsys.readouterr().err == ""
    edited(mine, SOURCE.replace("randn(40, 40", "randn(50, 50"))
    assert called(*words, *out) == 0
    assert capsys.readouterr().err == (
        "toy/matrices: 6 of 6 finished cells were made with earlier code of this experiment and are kept; "
        "--fresh makes them anew\n"
    )
    assert called(*words, *out, "--fresh") == 0
    assert called(*words, *out) == 0
    assert capsys.readouterr().err == ""
