"""Which code made a cell: a fingerprint of the source of an experiment that is the user's own."""

from __future__ import annotations

import inspect
import sys
from functools import cache
from types import ModuleType

from symscope.runs._definition import Experiment
from symscope.runs._settings import fingerprint


def code_of(experiment: Experiment) -> str | None:
    """A fingerprint of the source an experiment's cells come from; None of one that symscope ships.

    The source is that of the modules of its config, its cells and its measurement, not of what these import.
    What symscope ships changes with its version, which every run folder keeps.

    Args:
        experiment: The experiment.

    Returns:
        Twelve hexadecimal digits; None also where there is no source, as in a notebook.

    >>> from symscope.runs._registry import find
    >>> code_of(find("spectral/missing")) is None
    True
    """
    parts = (experiment.config, experiment.cells, experiment.measure)
    names = {
        getattr(part, "func", part).__module__ for part in parts
    }  # a partial is of its function's module
    own = [sys.modules[name] for name in names if name in sys.modules and name.split(".")[0] != "symscope"]
    sources = sorted(filter(None, map(_source, own)))
    return fingerprint(sources) if sources else None


@cache
def _source(module: ModuleType) -> str | None:
    """The text of a module, read once: the file may change while the module stays as it was loaded."""
    try:
        return inspect.getsource(module)
    except (OSError, TypeError):  # it has no file
        return None
