"""Stopping `symscope forecast`, going on, and spreading its trainings."""

from __future__ import annotations

import json

import pytest

from symscope.forecasting._training_task import Training
from tests.cli.forecast_calls import OWN, called


@pytest.mark.parametrize("before", ["an older page", None])
def test_ctrl_c_says_that_nothing_was_written(before, few, tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.html"
    if before is not None:
        page.write_text(before)

    def pressed(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("symscope.forecasting._architecture_forecast.draw_resample", pressed)
    assert called("--model", f"{OWN}:build", *few, "--out", str(page)) == 130
    streams = capsys.readouterr()
    assert streams.err.splitlines()[-1] == "symscope: stopped; nothing was written."
    assert streams.out == ""
    assert (page.read_text() if page.exists() else None) == before
    folder = tmp_path / "kept"
    assert called("--model", f"{OWN}:build", *few, "--resume", str(folder)) == 130
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"symscope: stopped; no answer yet, {folder} keeps what is finished."


def test_ctrl_c_keeps_what_is_known(few, tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.html"

    def pressed(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("symscope.forecasting._forecast.training_check", pressed)
    models = ("--model", f"{OWN}:build", "--model", "mlp")
    assert called(*models, *few, "--train", "--out", str(page)) == 130
    streams = capsys.readouterr()
    assert streams.err.splitlines()[-1] == "symscope: stopped; what was finished by then is shown."
    assert "Stopped (whole trainings): what was finished by then" in " ".join(streams.out.split())
    assert "Stopped (whole trainings)" in page.read_text(encoding="utf-8")
    assert "mlp" not in streams.out


def test_the_same_command_goes_on_where_it_was_stopped(more, tmp_path, monkeypatch, capsys):
    """Ctrl-C inside the longer pilot: what the shorter knows is shown, and not trained again."""
    words = (*more, "--resume", str(tmp_path / "trainings"), "--out", str(tmp_path / "page.html"))
    run, steps = Training.run, []

    def pressed(self, progress=None):
        steps.append(self.plan.steps)
        if len(steps) == 2:
            raise KeyboardInterrupt
        return run(self, progress)

    monkeypatch.setattr(Training, "run", pressed)
    assert called(*words) == 130
    streams = capsys.readouterr()
    assert "from pilot trainings at the cost of 10 of 30 steps" in " ".join(streams.out.split())
    assert "its trainings at the cost of 30 steps are missing" in " ".join(streams.out.split())
    assert "Pilot trainings at the cost of 10 steps" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert called(*words, "--json") == 0
    finished = len(steps) - 1  # all but the one that was stopped, each once
    assert finished == len(list((tmp_path / "trainings/cells").glob("net*")))
    assert json.loads(capsys.readouterr().out)["pilot"]["plan"]["lengths"] == [10, 30]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--resume", "."), "is not empty and holds no trainings of forecasts; choose another folder"),
        (("--workers", "-1"), "--workers is a number of processes"),
        (("--workers", "2", "--dask", "tcp://x:1"), "--workers and --dask exclude each other"),
        (("--dask", "nonsense://x"), "no Dask scheduler answers there"),
    ],
)
def test_folders_and_workers_that_cannot_be_used_are_one_line(
    more, words, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert called(*more, *words) == 2
    assert message in capsys.readouterr().err.strip().splitlines()[-1]
