"""The papers, re-run: experiments with presets, cells that resume, claims with verdicts, reports.

An experiment is an `Experiment` at the top level of a module: the registry finds it. `run` runs requests
through any `concurrent.futures.Executor` and stores every cell as it finishes.
"""

from __future__ import annotations

from symscope.experiments.claims import Claim, Verdict, above, below, holds, unchecked
from symscope.experiments.definition import Experiment, Plot, Preset, Surroundings
from symscope.experiments.outcome import Outcome
from symscope.experiments.registry import experiments, find
from symscope.experiments.request import Request, request, request_of
from symscope.experiments.runner import Place, run

__all__ = [
    "Claim",
    "Experiment",
    "Outcome",
    "Place",
    "Plot",
    "Preset",
    "Request",
    "Surroundings",
    "Verdict",
    "above",
    "below",
    "experiments",
    "find",
    "holds",
    "request",
    "request_of",
    "run",
    "unchecked",
]
