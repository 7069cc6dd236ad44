"""The command that repeats a run, for pages that show runs: reports and the documentation's results."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from symscope.numerics import explained

__all__ = ["reproduce_command"]


@explained
def reproduce_command(asked: Mapping[str, Any]) -> str:
    """The command that runs the same again.

    Args:
        asked: The content of run.json, see `RunOutcome.description`.

    >>> asked = {"experiment": "a/b", "preset": "paper", "changes": {"sizes": [1, 2]}, "seed": 3}
    >>> reproduce_command({**asked, "device": "cpu", "modules": []})
    'symscope reproduce a/b --preset paper --set sizes=1,2 --seed 3 --device cpu'
    """
    words = ["symscope", "reproduce", asked["experiment"], "--preset", asked["preset"]]
    for key, value in asked["changes"].items():
        words += ["--set", f"{key}={_text(value)}"]
    words += ["--seed", str(asked["seed"]), "--device", asked["device"]]
    for module in asked["modules"]:
        words += ["--module", module]
    return shlex.join(words)


def _text(value: Any) -> str:
    """A value as `--set` parses it."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and not any(isinstance(item, list | str) for item in value):
        return ",".join(_text(item) for item in value)
    return repr(value) if isinstance(value, list) else json.dumps(value)
