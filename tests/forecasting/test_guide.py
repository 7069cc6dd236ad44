"""The guide "Forecast your own model", run as a reader would."""

from __future__ import annotations

import re
from pathlib import Path

import torch

ROOT = Path(__file__).parents[2]


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
