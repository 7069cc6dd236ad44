"""The guide "The symmetries of your network", run from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "symmetries-of-your-network.md"


def test_the_guide_runs_and_draws_its_pictures(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = GUIDE.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 8
    for block in blocks:
        exec(compile(block, GUIDE.name, "exec"), names)
    drawn = {path.name for path in (tmp_path / "pictures").iterdir()}
    shown = set(re.findall(r"\.\./images/([^)]+)\)", text))
    assert drawn == shown
    for name in shown:
        assert (GUIDE.parents[1] / "images" / name).exists()
    assert "continuous (R^4) linear symmetries" in capsys.readouterr().out
