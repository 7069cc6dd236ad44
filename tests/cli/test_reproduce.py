"""`symscope reproduce`, `report` and `compare`: what they print, write and answer."""

from __future__ import annotations

import importlib
import json
import shutil
from pathlib import Path

import pytest

from tests.cli.test_app import called
from tests.runs.program import TOY, other_toy

QUICK = (
    "reproduce",
    "toy/matrices",
    "--module",
    TOY,
    "--device",
    "cpu",
    "--workers",
    "0",
    "--set",
    "cells=3",
)


def test_status_0_when_finished_and_1_when_strict_and_a_statement_does_not_hold(tmp_path, capsys):
    assert called(*QUICK, "--out", str(tmp_path)) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "✓ holds Random matrices have a norm." in said
    assert "○ not checked at this size They are beautiful." in said
    [folder] = tmp_path.iterdir()
    assert f"Report: {folder / 'report.html'}" in said
    assert "Random matrices have a norm." in (folder / "report.html").read_text()
    assert called(*QUICK, "--out", str(tmp_path), "--set", "threshold=1000") == 0
    assert "✗ contradicted" in " ".join(capsys.readouterr().out.split())
    assert called(*QUICK, "--out", str(tmp_path), "--set", "threshold=1000", "--strict") == 1
    assert called(*QUICK, "--out", str(tmp_path), "--strict") == 0
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("name", ["toy", "toi"])
def test_a_family_is_run_as_a_whole(tmp_path, capsys, monkeypatch, name):
    """Two experiments of the family toy; a module that cannot be imported mentions one, of toy or of toi."""
    two = tmp_path / "two.py"
    source = Path(TOY).read_text()
    two.write_text(f'{source}\nother = __import__("dataclasses").replace(toy, id="toy/other")\n')
    visitors = tmp_path / "visitors"
    visitors.mkdir()
    (visitors / "wrecked.py").write_text(f'ID = "{name}/wrecked"\n1 / 0\n')
    package = importlib.import_module("symscope_papers")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(visitors)])
    words = ("--module", str(two), "--device", "cpu", "--workers", "0", "--set", "cells=2")
    runs = tmp_path / "runs"
    assert called("reproduce", "toy", *words, "--out", str(runs)) == (2 if name == "toy" else 0)
    captured = capsys.readouterr()
    assert ("wrecked cannot be imported: ZeroDivisionError" in captured.err) == (name == "toy")
    assert "toy/other Fig. 7" in " ".join(captured.out.split())
    assert sorted(path.name.rpartition("-")[0] for path in runs.glob("toy-*")) == [
        "toy-matrices-quick",
        "toy-other-quick",
    ]
    assert called("reproduce", "toy", "toy/other", *words, "--out", str(runs)) == 2
    assert "toy/other is asked for twice with the same config; name it once" in capsys.readouterr().err


def test_all_beside_a_broken_module_runs_the_others_and_makes_status_2(tmp_path, capsys, monkeypatch):
    assert called(*QUICK, "--out", str(tmp_path / "before")) == 0  # what a run imports is there from now on
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / "wrecked.py").write_text("1 / 0\n")
    monkeypatch.setattr(importlib.import_module("symscope_papers"), "__path__", [str(shipped)])
    words = ["--all" if word == "toy/matrices" else word for word in QUICK]
    capsys.readouterr()
    assert called(*words, "--out", str(tmp_path / "runs")) == 2
    captured = capsys.readouterr()
    assert "left out: symscope_papers.wrecked cannot be imported: ZeroDivisionError" in captured.err
    assert "✓ holds Random matrices have a norm." in " ".join(captured.out.split())
    [folder] = (tmp_path / "runs").iterdir()
    assert (folder / "report.html").is_file()


def test_a_failing_cell_is_told_and_makes_status_1(tmp_path, capsys):
    assert called(*QUICK, "--out", str(tmp_path), "--set", "fail=1") == 1
    captured = capsys.readouterr()
    said = " ".join(captured.err.split())
    assert "1 of 3 cells failed" in said
    assert "ZeroDivisionError: cell 1 was told to fail" in said


def test_when_every_cell_fails_the_reasons_are_told_and_nothing_is_claimed(tmp_path, capsys):
    assert called(*QUICK, "--out", str(tmp_path), "--set", "fail=0,1,2") == 1
    captured = capsys.readouterr()
    said = " ".join(captured.err.split())
    assert said.count("was told to fail") == 3
    assert "could not be made" not in said
    assert "have a norm" not in captured.out


def test_several_experiments_share_a_report(tmp_path, capsys):
    other = other_toy(tmp_path)
    words = ("reproduce", "toy/matrices", "toy/others", "--module", TOY, "--module", other)
    runs = tmp_path / "runs"
    assert called(*words, "--device", "cpu", "--workers", "0", "--out", str(runs)) == 0
    assert f"Report: {runs / 'report.html'}" in capsys.readouterr().out
    assert "toy/matrices, toy/others" in (runs / "report.html").read_text()

    assert called("report", str(runs), "--out", str(tmp_path / "again.html")) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'again.html'}\n"
    assert "toy/others" in (tmp_path / "again.html").read_text()


def test_two_runs_are_compared(tmp_path, capsys):
    for seed in ("0", "1"):
        assert called(*QUICK, "--out", str(tmp_path), "--seed", seed) == 0
    capsys.readouterr()
    a, b = map(str, tmp_path.iterdir())
    assert called("compare", a, b) == 0
    said = capsys.readouterr().out
    assert "Asked differently" in said
    assert "largest difference" in said
    assert "The tables differ." in said
    assert called("compare", a, a) == 0
    assert "equal, bit for bit" in capsys.readouterr().out
    assert called("report", a, a) == 2
    assert "is named twice" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("reproduce",), "say which experiments to run, or --all"),
        (("reproduce", "spectral/missing", "--all"), "(not both)"),
        (("reproduce", "spectral/mising"), "did you mean 'spectral/missing'?"),
        (("reproduce", "spectrl"), "did you mean 'spectral'?"),
        (("reproduce", "spectral/missing", "--preset", "papr"), "did you mean 'paper'?"),
        (("reproduce", "spectral/missing", "--set", "pattern=3"), "did you mean 'patterns'?"),
        (("reproduce", "spectral/missing", "--set", "patterns=many"), "expected int, got 'many'"),
        (("reproduce", "spectral/missing", "--set", "patterns=0"), "patterns: expected 1 or more"),
        (("reproduce", "spectral/missing", "--device", "tpu"), "auto, cpu or cuda"),
        (("reproduce", "spectral/missing", "--seed", "-3"), "--seed is 0 or more"),
        (("reproduce", "spectral/missing", "--workers", "-1"), "--workers is a number of processes"),
        (("reproduce", "spectral/missing", "--workers", "1", "--dask", "tcp://x:1"), "exclude each other"),
        (("reproduce", "spectral/missing", "--module", "absent.py"), "there is no file absent.py"),
        (("reproduce", "spectral/missing", "--out", "/proc/self", "--workers", "0"), "cannot write"),
        (("report", "absent"), "absent does not exist"),
        (("report", "."), "is not a run folder"),
        (("compare", ".", "."), "is not a run folder"),
    ],
)
def test_bad_input_is_one_line_and_status_2(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert called(*words) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert len(errors.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_an_unreachable_cluster_is_bad_input(tmp_path, capsys):
    pytest.importorskip("distributed", reason="needs the extra symscope[dask]")
    words = ("reproduce", "spectral/missing", "--dask", "nowhere://127.0.0.1:1", "--out", str(tmp_path))
    assert called(*words) == 2
    assert "no Dask scheduler answers there" in capsys.readouterr().err


def test_folders_that_cannot_be_continued_are_bad_input(tmp_path, capsys):
    assert called(*QUICK, "--out", str(tmp_path)) == 0
    [folder] = tmp_path.iterdir()
    assert called("reproduce", str(folder), "--workers", "0") == 2
    assert f"if you trust that code, add --module {TOY}" in capsys.readouterr().err
    assert called("reproduce", str(folder), "--module", TOY, "--workers", "0") == 0
    assert called("reproduce", str(folder), "spectral/missing") == 2
    assert "not both in one command" in capsys.readouterr().err
    elsewhere = tmp_path / "elsewhere" / folder.name
    shutil.copytree(folder, elsewhere)
    assert called("reproduce", str(folder), str(elsewhere), "--module", TOY) == 2
    assert "one place at a time" in capsys.readouterr().err

    cell = next((folder / "cells").iterdir())
    cell.write_text(cell.read_text()[:-20])
    assert called(*QUICK, "--out", str(tmp_path)) == 2
    assert f"{cell}: expected JSON" in capsys.readouterr().err

    asked = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**asked, "symscope": "0.0.1"}))
    assert called("reproduce", str(folder), "--module", TOY) == 2
    assert "made by version 0.0.1 of symscope" in capsys.readouterr().err
    (folder / "run.json").write_text(json.dumps({**asked, "format": 0}))
    assert called("report", str(folder)) == 2
    assert "run format 0" in capsys.readouterr().err


def test_a_run_folder_has_its_own_settings_and_place(tmp_path, capsys):
    assert called(*QUICK, "--out", str(tmp_path)) == 0
    [folder] = tmp_path.iterdir()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    capsys.readouterr()
    for words in (
        ("--seed", "0"),  # also where it is what the folder has
        ("--preset", "paper"),
        ("--out", str(tmp_path / "new")),
        ("--set", "cells=4"),
        ("--device", "cpu"),
    ):
        assert called("reproduce", str(folder), "--workers", "0", *words, "--module", TOY) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert line == (
            f"symscope: {words[0]}: a run folder is continued with its own; leave that out, or name "
            "toy/matrices instead of the folder to start another run"
        )
    assert called("reproduce", str(folder), "-m", TOY, "--seed", "1", "-o", str(tmp_path / "new")) == 2
    assert "--seed, --out: a run folder" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    assert called("reproduce", str(folder), "-m", TOY, "--workers", "0", "--fresh", "--only", "index=1") == 0
    renamed = folder.rename(tmp_path / "renamed")
    assert called("reproduce", str(renamed), "-m", TOY) == 2
    assert f"name it {folder.name} again to continue it" in capsys.readouterr().err


def test_fresh_computes_every_cell_anew(tmp_path, capsys):
    assert called(*QUICK, "--out", str(tmp_path)) == 0
    [folder] = tmp_path.iterdir()
    before = {path: path.stat().st_mtime_ns for path in (folder / "cells").iterdir()}
    assert called(*QUICK, "--out", str(tmp_path), "--resume") == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert called(*QUICK, "--out", str(tmp_path), "--fresh") == 0
    assert all(path.stat().st_mtime_ns > time for path, time in before.items())
    capsys.readouterr()


def test_a_run_in_pieces(tmp_path, capsys):
    words = (*QUICK, "--out", str(tmp_path))
    assert called(*words, "--only", "index=0,2") == 0
    assert "2 of 3 cells are finished and kept" in capsys.readouterr().out
    [folder] = tmp_path.iterdir()
    assert not (folder / "summary.json").exists()
    assert called(*words, "--only", "index=1") == 0
    assert "✓ holds" in capsys.readouterr().out
    assert (folder / "report.html").exists()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("index", "expected NAME=VALUE"),
        ("size=3", "has no cells by 'size'"),
        ("index=9", "no cell has index = 9"),
    ],
)
def test_pieces_that_are_not_there(tmp_path, capsys, asked, said):
    assert called(*QUICK, "--out", str(tmp_path), "--only", asked) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_damage_is_put_right_by_reproduce_and_refused_by_the_others(tmp_path, capsys):
    assert called(*QUICK, "--out", str(tmp_path)) == 0
    [folder] = tmp_path.iterdir()
    table = folder / "tables" / "norms.parquet"
    whole = table.read_bytes()
    table.write_bytes(whole[:-99])
    capsys.readouterr()
    for words in (("report", str(folder)), ("report", str(tmp_path)), ("compare", str(folder), str(folder))):
        assert called(*words) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert line.startswith(f"symscope: {table}: missing, or not what the run wrote; `symscope report ")
    assert called("report", str(folder), "--redraw") == 2
    assert f"add --module {TOY}" in capsys.readouterr().err
    assert called("report", str(folder), "--redraw", "--module", TOY) == 0
    assert table.read_bytes() == whole
    table.unlink()
    assert called(*QUICK, "--out", str(tmp_path)) == 0
    assert "norms.parquet: missing, or not what the run wrote; written anew" in capsys.readouterr().err
    assert table.read_bytes() == whole


def test_pages_are_not_written_through_links_and_folders_that_are_links_are_read(tmp_path, capsys):
    assert called(*QUICK, "--out", str(tmp_path / "runs")) == 0
    [folder] = (tmp_path / "runs").iterdir()
    link, mine = tmp_path / "link", tmp_path / "mine"
    link.symlink_to(folder)
    assert called("report", str(link)) == 0
    assert called("reproduce", str(link), "-m", TOY, "--workers", "0") == 0
    mine.write_text("mine")
    (folder / "report.html").unlink()
    (folder / "report.html").symlink_to(mine)
    capsys.readouterr()
    for words in (("report", str(folder)), ("reproduce", str(folder), "-m", TOY, "--workers", "0")):
        assert called(*words) == 2
        assert "report.html is a link or no file" in capsys.readouterr().err
    assert mine.read_text() == "mine"


def test_a_file_for_a_folder_or_a_folder_for_a_file_is_one_line(tmp_path, capsys):
    assert called(*QUICK, "--out", str(tmp_path / "runs")) == 0
    [folder] = (tmp_path / "runs").iterdir()
    for part in ("cells", "tables", "run.json", "summary.json", ".held"):
        path = shutil.copytree(folder, tmp_path / part / folder.name) / part
        if path.is_dir():
            shutil.rmtree(path)
            path.write_text("")
        else:
            path.unlink(missing_ok=True)
            path.mkdir()
        capsys.readouterr()
        assert called(*QUICK, "--out", str(tmp_path / part)) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1, part
