"""JSON from a file that may be damaged or somebody else's: of the expected form, or refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, get_args, get_origin

from symscope.errors import InputError

DEEPEST = 20  # levels of nesting; a cell's tables need five
LARGEST = 1e300  # a larger whole number is no count, and cannot become a float
NUMBER = int | float


def parsed_json(content: bytes) -> Any:
    """The values of a JSON text.

    Args:
        content: Bytes of a file.

    Raises:
        InputError: Not JSON, nested deeper than anything a run writes, or with text that is not Unicode.

    >>> parsed_json(b'{"cells": [1, 2]}')
    {'cells': [1, 2]}
    """
    try:
        plain = json.loads(content)
        level: list[Any] = [[plain]]
        for _ in range(DEEPEST):
            inner = (value.values() if isinstance(value, dict) else value for value in level)
            level = [value for values in inner for value in values if isinstance(value, dict | list)]
            if not level:
                break
        else:
            raise InputError(f"expected JSON of at most {DEEPEST} levels, got more")
        if b"\\ud" in content.lower():  # half of a pair can be read, and never be written
            json.dumps(plain, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise InputError(f"expected JSON ({error})") from error
    return plain


def check_fields(plain: Any, kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain data that has the expected fields; numbers among them are finite.

    Args:
        plain: What was read.
        kinds: The type of each field; there may be further fields.

    Raises:
        InputError: No fields, or one that is missing or of another type.

    >>> check_fields({"seed": 0, "note": None}, {"seed": int})
    {'seed': 0, 'note': None}
    """
    if not isinstance(plain, dict):
        raise InputError(f"expected fields {', '.join(kinds)}, got {plain!r:.40}")
    for name, kind in kinds.items():
        if name not in plain or not _fits(plain[name], kind):
            words = getattr(kind, "__name__", str(kind))
            given = f"{plain[name]!r:.40}" if name in plain else "none"
            raise InputError(f"expected a field {name!r} of type {words}, got {given}")
    return plain


def _fits(value: Any, kind: Any) -> bool:
    if get_origin(kind) is list:
        return isinstance(value, list) and all(_fits(item, get_args(kind)[0]) for item in value)
    if isinstance(value, bool):
        return False  # to Python a whole number
    return isinstance(value, kind) and (not isinstance(value, NUMBER) or abs(value) < LARGEST)
