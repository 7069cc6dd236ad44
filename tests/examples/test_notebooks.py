"""The notebooks, executed as a reader would: cell after cell, in an empty folder."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
PRINTED = {
    "audit": ("not invariant under D4 dihedral", "certified on"),
    "forecast_your_model": ("new samples at what is missing (L: without 90°)", "two trainings differ by"),
    "partial_coverage": ("4: ±45°", "C8 turns by multiples of 45°", "there is no class 'nine'"),
    "price_list": ("from pilot trainings at the cost of", "forecast"),
}


def test_every_notebook_is_known():
    assert {path.stem for path in NOTEBOOKS} == set(PRINTED)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_well_formed_and_holds_no_results_of_a_run(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["cells"][0]["cell_type"]) == (4, "markdown")
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    with torch.random.fork_rng():
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                code = re.sub(r"\bsteps=(\d+)", "steps=30", "".join(cell["source"]))  # that it runs is tested
                code = re.sub(r"\bseconds=\d+", "seconds=2", code)
                exec(compile(code, path.name, "exec"), scope)
    printed = capsys.readouterr().out
    for words in PRINTED[path.stem]:
        assert words in printed
    if path.stem == "forecast_your_model":
        assert (tmp_path / "forecast.html").stat().st_size > 10_000
    if path.stem == "audit":
        assert (tmp_path / "audit.html").stat().st_size > 10_000
