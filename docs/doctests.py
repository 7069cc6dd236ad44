"""A griffe extension: examples in docstrings become fenced blocks, so that the site shows them as code."""

from __future__ import annotations

import inspect
from typing import Any

from griffe import Extension, Object


class Doctests(Extension):
    """Fences every run of lines that starts with `>>>`, up to the next blank line."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        """Called for every object with its docstring."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(inspect.cleandoc(obj.docstring.value))


def fenced(text: str) -> str:
    """The text with fences around its examples."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if not inside and line.lstrip().startswith(">>>"):
            lines += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)
