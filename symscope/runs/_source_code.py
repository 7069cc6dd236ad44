"""Which code made a cell: a fingerprint of the source of an experiment that is the user's own."""

from __future__ import annotations

import sys
from functools import cache
from importlib import metadata

from symscope.runs._definition import Experiment
from symscope.runs._registry import ENTRY_POINTS
from symscope.runs._settings import fingerprint
from symscope.user_code import module_source


def source_fingerprint(experiment: Experiment) -> str | None:
    """A fingerprint of the source code of an experiment; None for one that symscope's distribution ships.

    The source is that of the modules of its config, its cells and its measurement, not of what these import.
    What the distribution ships changes with its version, which every run folder keeps.

    Args:
        experiment: The experiment.

    Returns:
        Twelve hexadecimal digits; None also where there is no source, as in a notebook.

    >>> from symscope.runs._registry import find_experiment
    >>> source_fingerprint(find_experiment("spectral/missing")) is None
    True
    """
    parts = (experiment.config, experiment.cells, experiment.measure)
    # a partial's module is that of its function
    names = {getattr(part, "func", part).__module__ for part in parts}
    own = [
        sys.modules[name] for name in names if name in sys.modules and name.split(".")[0] not in _shipped()
    ]
    sources = sorted(filter(None, map(module_source, own)))
    return fingerprint(sources) if sources else None


@cache
def _shipped() -> frozenset[str]:
    """The import packages of symscope's own distribution: the library, and what it registers itself."""
    points = metadata.entry_points(group=ENTRY_POINTS)
    own = {point.module.partition(".")[0] for point in points if point.dist and point.dist.name == "symscope"}
    return frozenset({"symscope", *own})
