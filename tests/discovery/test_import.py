"""Importing the package is light: what only some uses need is loaded when they need it."""

from __future__ import annotations

import subprocess
import sys

HEAVY = (
    "scipy.stats",
    "scipy.integrate",
    "matplotlib",
    "pandas",
    "torch._dynamo",
    "torch._inductor",
    "sympy",
)


def test_heavy_libraries_wait_until_they_are_needed():
    code = f"import sys, symscope.discovery; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
