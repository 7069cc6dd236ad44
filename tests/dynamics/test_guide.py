"""The guide "Augment or build in?", run as a reader would."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "augment-or-build-in.md"


def test_the_guide_runs_and_its_numbers_are_those_printed(capsys):
    text = GUIDE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) > 9
    names: dict[str, object] = {}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for block in blocks:
            exec(compile(block, GUIDE.name, "exec"), names)
    result = names["found"]
    assert f"lowest curvature of {result.outside.lowest:.4f}" in text
    assert f"stabilising penalty of {result.stabilising_penalty:.4f}" in text
    assert f"{names['rough'].outside.lowest:.3f} with a standard error" in text
    assert result.growth_rate * 60 == pytest.approx(0.7, abs=0.05)
    assert "2 breaks equivariance" in capsys.readouterr().out
