"""The guide "Will it generalise?", run as a reader would."""

from __future__ import annotations

import re
from pathlib import Path

import torch

ROOT = Path(__file__).parents[2]


def test_the_guide_runs_from_top_to_bottom_and_draws_its_pictures(tmp_path, monkeypatch):
    text = (ROOT / "docs" / "guides" / "will-it-generalise.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) > 8
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with torch.random.fork_rng():
        for block in blocks:
            exec(compile(block, "will-it-generalise.md", "exec"), names)
    shown = re.findall(r"\.\./images/generalise-(\w+)\.svg", text)
    assert sorted(shown) == sorted(path.stem for path in (tmp_path / "pictures").glob("*.svg"))
    for name in shown:
        assert (ROOT / "docs" / "images" / f"generalise-{name}.svg").stat().st_size > 1000
