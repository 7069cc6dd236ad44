"""The code in the README and on the first page of the documentation runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_python_blocks_run(name, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, name, "exec"), scope)
    result = scope["error"] if name == "README.md" else scope["predicted"]
    assert result.isfinite().all()
    assert result.shape == (2, 10)


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_links_lead_somewhere(name):
    page = ROOT / name
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{name} points to {target}"
