"""The engine of experiments: cells that resume, executors, run folders, claims with verdicts, reports.

An experiment is an `Experiment` at the top level of a module: the registry finds it. `run_experiments` runs
requests through any `concurrent.futures.Executor` and stores every cell as it finishes.

Public modules: `symscope.runs.commands`, the command line that repeats a run, for tools that show runs.
"""

from __future__ import annotations

from symscope.runs._cell import cell_key, cell_record
from symscope.runs._claims import Claim, ClaimKind, Verdict
from symscope.runs._definition import CellContext, CellResults, Experiment, Plot, Preset, RunTables
from symscope.runs._closing import redraw_run
from symscope.runs._outcome import RunOutcome
from symscope.runs._registry import broken_modules, experiment_ids, experiments
from symscope.runs._request import RunRequest
from symscope.runs._run_comparison import compare_runs
from symscope.runs._run_page import run_folders, run_report
from symscope.runs._runner import run_experiments
from symscope.runs._scheduling import Workers, finished_cells
from symscope.runs._store import RunFolder

__all__ = [
    # defining an experiment
    "Experiment",
    "Preset",
    "CellContext",
    "CellResults",
    "RunTables",
    "Plot",
    "Claim",
    "ClaimKind",
    "Verdict",
    # finding experiments
    "experiments",
    "experiment_ids",
    "broken_modules",
    # running them
    "RunRequest",
    "Workers",
    "run_experiments",
    "RunOutcome",
    # cells of another kind, such as the trainings of a forecast
    "cell_key",
    "cell_record",
    "finished_cells",
    "RunFolder",
    # showing runs
    "run_folders",
    "run_report",
    "redraw_run",
    "compare_runs",
]
