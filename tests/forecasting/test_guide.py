"""The guides "Forecast your own model", "Targets that transform" and "Points, ...", run as a reader would."""

from __future__ import annotations

import re
from pathlib import Path

import torch

ROOT = Path(__file__).parents[2]


def test_targets_that_transform_runs(capsys):
    text = (ROOT / "docs" / "guides" / "targets-that-transform.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    with torch.random.fork_rng():
        for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
            exec(compile(block.replace('"8s"', '"4s"'), "targets-that-transform.md", "exec"), names)
    said = capsys.readouterr().out
    assert said.endswith("0.22 0.95\n0.00 0.81\n")
    assert "# 0.22 0.95, then 0.00 0.81" in text
    assert "Say --target-action vector, same or" in said
    assert "moved back" in said


def test_points_series_graphs_runs(capsys):
    text = (ROOT / "docs" / "guides" / "points-series-graphs.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        quick = block.replace("per_class=4", "per_class=2").replace('"10s"', '"1s"')
        quick = quick.replace("arange(60)", "arange(12)").replace("randn(60", "randn(12")
        exec(compile(quick, "points-series-graphs.md", "exec"), names)
    said = capsys.readouterr().out
    assert "SO(3) through I, 60 elements" in said
    assert "exact for kernels up to degree 10" in said
    assert said.endswith("±15°: 0.97\n±30°: 0.88\n±60°: 0.39\n±90°: -0.37\n")
    assert "# 0.97, 0.88, 0.39, -0.37" in text


def test_the_guide_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs" / "guides" / "forecast-your-model.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) > 5
    blocks = [block.replace("steps=150", "steps=30") for block in blocks]  # numbers are not looked at
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with torch.random.fork_rng():
        for block in blocks:
            exec(compile(block, "forecast-your-model.md", "exec"), names)
    assert (tmp_path / "forecast.html").stat().st_size > 10_000
    assert "noise floor" in capsys.readouterr().out
