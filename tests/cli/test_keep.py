"""`symscope keep`: what it prints, writes and refuses."""

from __future__ import annotations

from tests.cli.test_app import called
from tests.runs.program import toy_run


def test_finished_runs_become_pages_and_an_index(tmp_path, capsys):
    toy_run(tmp_path / "runs", "cells=2")
    kept = tmp_path / "kept"
    assert called("keep", str(tmp_path / "runs"), "--to", str(kept)) == 0
    assert capsys.readouterr().out.splitlines() == [str(kept / "toy-matrices.md"), str(kept / "index.md")]
    assert "[toy/matrices](toy-matrices.md)" in (kept / "index.md").read_text()


def test_help_teaches_by_example(capsys):
    assert called("keep", "--help") == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "symscope keep runs --to docs/results" in words


def test_bad_input_is_one_line_and_status_2(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert called("keep", "absent") == 2
    [line] = capsys.readouterr().err.strip().splitlines()
    assert "absent does not exist" in line
    assert not list(tmp_path.iterdir())
