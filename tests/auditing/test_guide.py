"""The guide "Audit your model", run as a reader would."""

from __future__ import annotations

import re
from pathlib import Path

import torch

ROOT = Path(__file__).parents[2]


def test_the_guide_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs" / "guides" / "audit-your-model.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) > 7
    blocks = [block.replace("seconds=20", "seconds=1") for block in blocks]  # shorter fine-tuning
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with torch.random.fork_rng():
        for block in blocks:
            exec(compile(block, "audit-your-model.md", "exec"), names)
    assert (tmp_path / "audit.html").stat().st_size > 50_000
    printed = capsys.readouterr().out
    for words in ("First cause: data", "average over 4 elements: better", "largest errors of layers"):
        assert words in printed
