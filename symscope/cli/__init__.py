"""The command line: parse, build a config, run, report. No mathematics lives here.

Every package is imported inside the command that needs it, so that `symscope --help` and shell completion
answer at once; the commands themselves are imported when Ctrl-C can be taken.
"""

from __future__ import annotations

from symscope.cli._program import program

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all the rest
if TYPE_CHECKING:
    from typing import Any

    from symscope.cli._app import app, main

__all__ = [
    "app",
    "main",
    "program",
]


def __getattr__(name: str) -> Any:
    if name in ("app", "main"):
        from symscope.cli import _app

        return getattr(_app, name)
    raise AttributeError(f"module 'symscope.cli' has no attribute {name!r}")
