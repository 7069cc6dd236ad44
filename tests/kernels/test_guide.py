"""The guide "Which kernel for my network?" and the examples for other libraries, run as a reader would."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]


def test_the_guide_runs_from_top_to_bottom():
    text = (ROOT / "docs" / "guides" / "which-kernel.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) > 8
    names: dict[str, object] = {}
    with torch.random.fork_rng():
        for block in blocks:
            exec(compile(block, "which-kernel.md", "exec"), names)


@pytest.mark.parametrize(
    ("example", "worst"),
    [
        (
            "sklearn_kernels",
            {
                "SVC, NNGP kernel: accuracy": 0.85,
                "KernelRidge, NTK: R^2": 0.85,
                "GaussianProcessRegressor, RBF: R^2": 0.9,
            },
        ),
        ("gpytorch_kernels", {"R^2 on new points": 0.75}),
    ],
)
def test_examples_run_and_learn(example, worst):
    result = runpy.run_path(str(ROOT / "examples" / f"{example}.py"))["main"]()
    for name, value in worst.items():
        assert result[name] > value, name
    if "last loss" in result:
        assert result["last loss"] < result["first loss"]
