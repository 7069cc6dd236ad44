"""The command line: parse, build a config, run, report. No mathematics lives here.

Every package is imported inside the command that needs it, so that `symscope --help` and shell completion
answer at once.
"""

from __future__ import annotations

from symscope.cli._app import app, main

__all__ = [
    "app",
    "main",
]
