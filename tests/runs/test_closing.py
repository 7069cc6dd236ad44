"""Runs closed, closed again, and put right: whatever follows from the cells can be lost."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

from symscope import InputError
from symscope.runs import RunOutcome, compare_runs, run_experiments, run_report
from symscope.runs._closing import redraw_run
from symscope.runs._settings import canonical_json
from symscope.runs._store import RunFolder
from tests.runs.program import TOY, Workers, tables, toy_request, toy_run


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return toy_run(tmp_path_factory.mktemp("runs"), "cells=2")


@pytest.fixture
def copied(finished, tmp_path):
    return Path(shutil.copytree(finished.folder, tmp_path / finished.folder.name))


def again(folder: Path) -> tuple[RunOutcome, list[str]]:
    """The same command again: its outcome, and what it warns of."""
    warnings: list[str] = []
    [outcome] = run_experiments(
        [toy_request("cells=2")], folder.parent, Workers(processes=0), warn=warnings.append
    )
    return outcome, warnings


def seal(folder: Path, name: str, changes: dict[str, object]) -> None:
    """Change a file that has a checksum, and the checksum with it: what someone with a purpose does."""
    record = json.loads((folder / name).read_text())["record"] | changes
    checksum = hashlib.sha256(canonical_json(record).encode()).hexdigest()
    (folder / name).write_text(json.dumps({"checksum": checksum, "record": record}))


def forge(folder: Path, name: str, content: bytes) -> None:
    """Replace a file, and its checksum in the summary."""
    (folder / name).write_bytes(content)
    files = json.loads((folder / "summary.json").read_text())["record"]["files"]
    seal(folder, "summary.json", {"files": files | {name: hashlib.sha256(content).hexdigest()}})


def test_plots_and_claims_are_made_anew_from_the_cells(finished, copied):
    shutil.rmtree(copied / "figures")
    (copied / "summary.json").unlink()
    again = redraw_run(copied, [TOY])
    assert again.claims == finished.claims
    assert (copied / "figures" / "norms.png").read_bytes() == (
        finished.folder / "figures" / "norms.png"
    ).read_bytes()
    old = "2020-02-02T02:02:02+00:00"
    seal(copied, "summary.json", {"finished": old})
    assert redraw_run(copied, [TOY]).finished == old  # when it was run, not when it was drawn
    next((copied / "cells").iterdir()).unlink()
    with pytest.raises(InputError, match="1 cells are not there yet"):
        redraw_run(copied, [TOY])


def test_a_run_closed_before_its_end_says_so_and_goes_on_later(finished, copied):
    (copied / "summary.json").unlink()
    first, second = sorted((copied / "cells").iterdir())
    first.unlink()
    part = redraw_run(copied, [TOY], unfinished=True)
    assert (part.cells, part.missing, part.failed, part.status) == (2, 1, 0, 0)
    assert len(part.tables()["norms"]) < len(finished.tables()["norms"])
    assert not any(claim.outcome == "holds" for claim in part.claims)
    assert any("1 of 2 cells were not run" in claim.why for claim in part.claims)
    assert "1 of 2 cells were not run." in run_report([copied])
    whole, warnings = again(copied)
    assert (whole.claims, whole.missing, warnings) == (finished.claims, 0, [])
    first.unlink()
    second.unlink()
    with pytest.raises(InputError, match="2 cells are not there yet"):
        redraw_run(copied, [TOY], unfinished=True)


def test_a_run_says_which_later_revision_judged_it(finished, copied, monkeypatch):
    ran = finished.environment()
    monkeypatch.setattr("symscope.runs._closing.revision", lambda folder: "0ff1ce")
    assert redraw_run(copied, [TOY]).environment() == {**ran, "closed_by": "0ff1ce"}
    assert "revision 0ff1ce" in run_report([copied])
    monkeypatch.setattr("symscope.runs._closing.revision", lambda folder: ran["revision"])
    assert redraw_run(copied, [TOY]).environment() == ran


def test_a_run_that_is_being_worked_on_is_not_redrawn(copied):
    with RunFolder(copied).lock(), pytest.raises(InputError, match="another process"):
        redraw_run(copied, [TOY])


CLOSING = ("summary.json", "claims.json", "figures.json", "timings.parquet", "tables/norms.parquet")
DRAWN = ("figures/norms.svg", "figures/norms.png")
DAMAGE = {
    "deleted": lambda path: path.unlink(),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-30]),
    "emptied": lambda path: path.write_bytes(b""),
    "another": lambda path: path.write_bytes(b"[]"),
    "deep": lambda path: path.write_bytes(b"[" * 5000 + b"]" * 5000),
    "numbers": lambda path: path.write_bytes(b"[NaN, 1e999, " + b"9" * 5000 + b"]"),
    "pipe": lambda path: (path.unlink(), os.mkfifo(path)),
}


@pytest.mark.parametrize("name", [*CLOSING, *DRAWN])
@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_seen_by_whoever_reads_the_folder(copied, name, kind):
    DAMAGE[kind](copied / name)
    remedy = "is not finished" if (name, kind) == ("summary.json", "deleted") else f"{name}: .*--redraw"
    for read in (RunOutcome.from_folder, lambda folder: run_report([folder]), lambda a: compare_runs(a, a)):
        with pytest.raises(InputError, match=remedy) as caught:
            read(copied)
        assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("tables/norms.parquet", "cut"),
        ("timings.parquet", "deleted"),
        ("figures/norms.png", "emptied"),
        ("claims.json", "another"),
        ("summary.json", "cut"),
    ],
)
def test_what_follows_from_the_cells_is_restored_with_one_line(finished, copied, name, kind):
    DAMAGE[kind](copied / name)
    outcome, [warning] = again(copied)
    assert warning.startswith(str(copied / name))
    assert warning.endswith("; written anew from the cells")
    assert (outcome.claims, outcome.cells) == (finished.claims, 2)
    assert tables(copied) == tables(finished.folder)
    same = ("run.json", "environment.json", "claims.json", "timings.parquet", *DRAWN)
    assert all((copied / one).read_bytes() == (finished.folder / one).read_bytes() for one in same)
    assert again(copied) == (outcome, [])


def test_many_damaged_files_are_one_line(copied):
    shutil.rmtree(copied / "tables")
    (copied / "claims.json").unlink()
    assert "and 2 more files: missing" in again(copied)[1][0]


def test_claims_are_judged_again_whatever_the_checksums_say(finished, copied):
    forge(copied, "claims.json", b"[]")
    assert RunOutcome.from_folder(copied).claims == ()  # all that can be known without the experiment's code
    outcome, [warning] = again(copied)
    assert "claims.json: not what follows from the cells" in warning
    assert outcome.claims == finished.claims


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("claims.json", b'[{"statement": 1}]', "'kind' of type str, got none"),
        ("claims.json", b"{}", "expected a list"),
        ("claims.json", b"[null]", "expected fields"),
        ("figures.json", b'[{"name": "../../x"}]', "'title' of type str"),
        ("environment.json", b"[]", "expected fields"),
        ("tables/norms.parquet", b"PAR1", "not a Parquet file"),
        ("figures/norms.svg", b"<svg", "expected the text of an SVG file"),
    ],
)
def test_files_with_fitting_checksums_have_the_expected_form_or_are_refused(copied, name, content, message):
    forge(copied, name, content)
    with pytest.raises(InputError, match=message):
        run_report([copied])


@pytest.mark.parametrize(
    "changes",
    [
        {"measured": [1]},
        {"measured": 10**400},
        {"verdict": "perhaps"},
        {"statement": " "},
        {"another": 1},
        {"why": None},
        {"kind": "mine"},
        {"verdict": None},
    ],
)
def test_claims_of_another_form_are_refused(copied, changes):
    claims = json.loads((copied / "claims.json").read_text())
    forge(copied, "claims.json", json.dumps([{**claims[0], **changes}]).encode())
    with pytest.raises(InputError, match=r"claims.json: "):
        RunOutcome.from_folder(copied)


def test_figures_come_from_the_folder_alone(copied):
    figures = json.loads((copied / "figures.json").read_text())
    figures[0]["name"] = "../../secret"
    (copied.parent / "secret.svg").write_text("<svg/>")
    forge(copied, "figures.json", json.dumps(figures).encode())
    with pytest.raises(InputError, match="not a file of this run"):
        run_report([copied])


def test_a_script_in_a_figure_does_not_reach_the_page(copied):
    forge(copied, "figures/norms.svg", b"<svg><script>evil()</script><g onload='evil()'/></svg>")
    assert "evil" not in run_report([copied])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *[("cells", value) for value in (None, "2", True, float("nan"), 10**400, [1])],
        *[("seconds", value) for value in (None, float("inf"), -(10**400))],
        ("problems", [1]),
        ("files", []),
        ("files", {"../run.json": ""}),
    ],
)
def test_a_summary_of_another_form_is_refused(copied, key, value):
    seal(copied, "summary.json", {key: value})
    with pytest.raises(InputError, match=r"summary.json: "):
        RunOutcome.from_folder(copied)


@pytest.mark.parametrize("kind", ["deleted", "changed"])
def test_a_lost_environment_is_replaced_once_and_the_page_says_so(copied, kind):
    path = copied / "environment.json"
    if kind == "changed":
        path.write_text(path.read_text().replace('"processor": "', '"processor": "not '))
    else:
        DAMAGE[kind](path)
    outcome, [warning] = again(copied)
    assert warning.endswith("written anew from the cells, environment.json from this machine")
    assert again(copied) == (outcome, [])
    assert "what the run wrote was lost" in run_report([copied])
    assert "not " not in outcome.environment()["processor"]


@pytest.mark.parametrize(
    "content", ["", "[]", "1", "null", "{}", '{"format": 1}', "[" * 9000, '{"format": NaN}']
)
def test_a_damaged_run_json_is_refused(copied, content):
    (copied / "run.json").write_text(content)
    for read in (RunOutcome.from_folder, redraw_run):
        with pytest.raises(InputError, match=r"run.json: expected "):
            read(copied)


def test_a_damaged_run_json_is_restored_where_the_run_is_asked_for_again(finished, copied):
    (copied / "run.json").write_text("[]")
    outcome, warnings = again(copied)
    assert "run.json: expected fields" in warnings[0]
    assert (copied / "run.json").read_bytes() == (finished.folder / "run.json").read_bytes()
    assert outcome.claims == finished.claims


@pytest.mark.parametrize("change", [{"tables": {"norms": 1}}, {"seed": 10**30}])
def test_cells_of_another_form_are_a_problem_on_the_page(copied, change):
    for cell in (copied / "cells").iterdir():
        seal(copied, f"cells/{cell.name}", change)
    assert again(copied)[0].problems


def test_cells_of_somebody_else_write_nothing_outside(copied):
    for cell in (copied / "cells").iterdir():
        seal(copied, f"cells/{cell.name}", {"tables": {"../../x": {"a": [1]}}})
    with pytest.raises(InputError, match="expected a file inside the run folder"):
        again(copied)
    assert [path.name for path in copied.parent.iterdir()] == [copied.name]


@pytest.mark.parametrize("name", ["tables/norms.parquet", "summary.json", "tables", "cells"])
def test_links_in_the_folder_are_not_written_through(copied, tmp_path_factory, name):
    target = tmp_path_factory.mktemp("mine") / "mine"
    shutil.move(copied / name, target)
    (copied / name).symlink_to(target)
    (copied / "claims.json").unlink()
    before = {path: path.stat().st_mtime_ns for path in target.parent.rglob("*")}
    if name == "summary.json":
        again(copied)
        assert not (copied / name).is_symlink()
    else:
        with pytest.raises(InputError, match="is a link, a pipe or a device"):
            again(copied)
    assert {path: path.stat().st_mtime_ns for path in target.parent.rglob("*")} == before
