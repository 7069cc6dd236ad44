"""The papers, re-run: experiments with presets, cells that resume, claims with verdicts, reports.

An experiment is an `Experiment` at the top level of a module: the registry finds it. `run` runs requests
through any `concurrent.futures.Executor` and stores every cell as it finishes.
"""

from __future__ import annotations

from symscope.runs._claims import Claim, Verdict, above, below, holds, measured_text, unchecked
from symscope.runs._definition import Experiment, Plot, Preset, Results, Surroundings, Tables
from symscope.runs._kept import keep
from symscope.runs._outcome import Outcome, failures_of, redraw
from symscope.runs._registry import broken, experiments, find, named
from symscope.runs._request import Request, request, request_of
from symscope.runs._run_comparison import compare
from symscope.runs._run_page import report, run_folders
from symscope.runs._runner import Place, run
from symscope.runs._store import RunFolder, write_bytes

__all__ = [
    "Claim",
    "Experiment",
    "Outcome",
    "Place",
    "Plot",
    "Preset",
    "Request",
    "Results",
    "RunFolder",
    "Surroundings",
    "Tables",
    "Verdict",
    "above",
    "below",
    "broken",
    "compare",
    "experiments",
    "failures_of",
    "find",
    "holds",
    "keep",
    "measured_text",
    "named",
    "redraw",
    "report",
    "request",
    "request_of",
    "run",
    "run_folders",
    "unchecked",
    "write_bytes",
]
