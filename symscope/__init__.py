"""symscope: will a neural network learn a symmetry from data, and what to do about it.

Importing symscope does nothing but make its rooms available; each is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import Any

from symscope._version import __version__
from symscope.errors import InputError

_ROOMS = (
    "groups",
    "data",
    "kernels",
    "training",
    "spectral",
    "linear",
    "dynamics",
    "discovery",
    "forecast",
    "report",
    "testing",
    "experiments",
)

__all__ = ["InputError", "__version__", *_ROOMS]


def __getattr__(name: str) -> Any:  # a room; one of them, the forecast, can also be called
    if name in _ROOMS:
        return importlib.import_module(f"symscope.{name}")
    raise AttributeError(f"module 'symscope' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
