"""symscope: will a neural network learn a symmetry from data, and what to do about it.

Importing symscope does nothing but make its packages available; each is loaded when it is first used.
`symscope.forecast` and `symscope.audit` are the main questions, one call each.
"""

from __future__ import annotations

from symscope._version import __version__
from symscope.errors import InputError

TYPE_CHECKING = False  # as in `typing`, which takes as long to import as all that stands before Ctrl-C works
if TYPE_CHECKING:  # what type checkers and completion see; at run time each is loaded on first use
    from typing import Any

    from symscope import (
        auditing,
        data,
        discovery,
        dynamics,
        forecasting,
        groups,
        kernels,
        linear,
        networks,
        numerics,
        report,
        runs,
        spectral,
        testing,
        training,
    )
    from symscope.auditing import audit
    from symscope.forecasting import forecast

__all__ = [
    "InputError",
    "__version__",
    "audit",
    "auditing",
    "data",
    "discovery",
    "dynamics",
    "forecast",
    "forecasting",
    "groups",
    "kernels",
    "linear",
    "networks",
    "numerics",
    "report",
    "runs",
    "spectral",
    "testing",
    "training",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name == "forecast":
        return importlib.import_module("symscope.forecasting").forecast
    if name == "audit":
        return importlib.import_module("symscope.auditing").audit
    if name in __all__:
        return importlib.import_module(f"symscope.{name}")
    raise AttributeError(f"module 'symscope' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
