"""`symscope audit`: what it prints, its exit status, and every mistake a user can make."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from symscope.auditing.repairs import load_repaired
from symscope.cli._app import main
from tests.auditing.planted import aligned, mlp, trained

NETS = """
import torch
from torch import nn

def build():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, 3))

def pooled():
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1, 3))

class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = build()
    def forward(self, x):
        return self.inner(x) + torch.rand(3)

def noisy():
    return Noisy()

class Pair(Noisy):
    def forward(self, x):
        return self.inner(x), x

def pair():
    return Pair()

def turn(g, x):
    print("the user prints")
    return torch.rot90(x, g, (-2, -1))

def triple(g, y):
    return y.roll(g, -1)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("audit")
    (path / "nets.py").write_text(NETS)
    data = aligned(120)
    np.savez(path / "mine.npz", X=data.x.numpy(), y=data.labels.numpy())
    np.savez(path / "one.npz", X=data.x.numpy(), y=np.zeros(120, dtype=int))
    torch.save(trained(mlp, data, 40).state_dict(), path / "w.pt")
    torch.save(mlp(width=20).state_dict(), path / "other.pt")
    return path


def run(capsys, folder, *arguments, model="build", weights="w.pt", data="mine.npz"):
    given = ["audit", "--model", f"{folder}/nets.py:{model}", "--data", f"{folder}/{data}"]
    given += ["--weights", f"{folder}/{weights}"] if weights else []
    given += [] if "--json" in arguments else ["--out", f"{folder}/audit.html"]
    with pytest.raises(SystemExit) as stop:
        main([*given, "--no-repair", *arguments])
    return stop.value.code, *capsys.readouterr()


def test_numbers_for_programs_and_a_status_for_pipelines(capsys, folder):
    status, out, _ = run(capsys, folder, "--group", "C4", "--json", "--fail-above", "0.05")
    result = json.loads(out)
    assert status == 1
    assert result["error"] > 0.5
    assert result["format"] == 1
    assert result["causes"][0]["kind"] in ("data", "training")
    assert [one["element"] for one in result["elements"]] == ["90°", "180°", "270°"]
    status, out, _ = run(capsys, folder, "--group", "C4", "--json", "--fail-above", "9")
    assert status == 0


def test_a_clean_network_passes(capsys, folder):
    status, out, _ = run(
        capsys, folder, "--group", "C4", "--json", "--fail-above", "1e-3", model="pooled", weights=""
    )
    assert status == 0
    assert json.loads(out)["clean"]


def test_an_action_and_a_target_of_one_s_own(capsys, folder):
    own, target = f"{folder}/nets.py:turn", f"{folder}/nets.py:triple"
    status, out, error = run(capsys, folder, "--group", "C4", "--action", own, "--json")
    assert status == 0
    assert json.loads(out)["action"] == "turn"
    assert "the user prints" in error
    status, out, _ = run(capsys, folder, "--group", "C3", "--action", "shift-x", "--target-action", target)
    assert status == 2  # three steps do not divide eight pixels


@pytest.mark.parametrize(
    ("arguments", "change", "words"),
    [
        (["--group", "C4"], {"weights": "other.pt"}, "does not fit the network"),
        (["--group", "C4"], {"weights": "none.pt"}, "no file"),
        (["--group", "C4"], {"data": "one.npz"}, "two classes"),
        (["--group", "C4"], {"model": "noisy", "weights": ""}, "two calls on the same samples"),
        (["--group", "C4"], {"model": "pair", "weights": ""}, "one tensor"),
        (["--group", "C5", "--action", "shift-x"], {}, "divides the width"),
        (["--group", "C4", "--target-action", "picture"], {}, "target action"),
        (["--group", "C4", "--target-action", "image"], {}, "axes or more"),
        (["--group", "C4", "--fail-above", "-1"], {}, "0 or more"),
        (["--group", "C4", "--seconds", "0"], {}, "above 0"),
        (["--group", "C4", "--device", "abacus"], {}, "--device"),
    ],
)
def test_mistakes_end_in_one_line_and_status_2(capsys, folder, arguments, change, words):
    status, out, error = run(capsys, folder, *arguments, **change)
    assert status == 2
    assert out == ""
    [line] = error.strip().splitlines()
    assert words in line
    assert line.startswith("symscope: ")


def test_a_page_is_written_and_the_best_network_saved(capsys, folder):
    given = ["audit", "--model", f"{folder}/nets.py:build", "--weights", f"{folder}/w.pt"]
    given += ["--data", f"{folder}/mine.npz", "--group", "C4", "--seconds", "4"]
    with pytest.raises(SystemExit) as stop:
        main([*given, "--out", f"{folder}/page.html", "--save-repaired", f"{folder}/repaired.pt"])
    out, err = capsys.readouterr()
    assert stop.value.code == 0
    assert f"Report: {folder}/page.html" in out
    page = (folder / "page.html").read_text()
    for words in (
        "Whose fault is it?",
        "By layer",
        "What it does to answers",
        "Should you want it?",
        "Remedies",
    ):
        assert f">{words}</h2>" in page or words in page
    assert "load_repaired" in err
    repaired = load_repaired(folder / "repaired.pt", mlp())
    assert repaired.certificate["error_after"]["value"] < repaired.certificate["error_before"]["value"]


@pytest.mark.parametrize("option", ["--out", "--save-repaired"])
def test_a_file_that_cannot_be_written_is_refused_before_any_work(capsys, folder, option):
    given = ["audit", "--model", f"{folder}/nets.py:build", "--data", f"{folder}/mine.npz"]
    with pytest.raises(SystemExit) as stop:
        main([*given, "--out", f"{folder}/audit.html", option, f"{folder}/nowhere/x"])
    assert stop.value.code == 2
    assert "nowhere" in capsys.readouterr().err


def test_there_is_nothing_to_save_without_repairs(capsys, folder):
    status, _, err = run(capsys, folder, "--save-repaired", f"{folder}/x.pt")
    assert (status, "--no-repair" in err) == (2, True)
