"""One cell, run anywhere: a plain task goes in, a plain record comes out, an exception becomes part of it.

Tasks and records hold nothing but JSON values, so that a worker needs no more than symscope (and the user's
own module) to run one, whether it is a local process or a machine of a cluster.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from symscope.errors import InputError
from symscope.runs._definition import CellContext, CellResults
from symscope.runs._settings import canonical_json, config_from_plain, fingerprint
from symscope.runs._source_code import source_fingerprint

FILE_NAME = re.compile(r"[\w-]+")


@final
@dataclass(frozen=True)
class CellTask:
    """All that a worker must know to run one cell.

    Attributes:
        experiment: The experiment's id.
        modules: Further modules where the experiment may be defined.
        config: The config as plain data.
        parameters: The cell's parameters.
        run_seed: The seed of the run.
        device: "cpu" or "cuda".
        threads: Threads of the cell.
    """

    experiment: str
    modules: tuple[str, ...]
    config: dict[str, Any]
    parameters: dict[str, Any]
    run_seed: int
    device: str
    threads: int

    @property
    def key(self) -> str:
        """The cell's file name: readable, unique, the same on every machine."""
        return cell_key(self.parameters)

    @property
    def seed(self) -> int:
        """The cell's own seed."""
        return cell_seed(self.run_seed, self.experiment, self.parameters)

    @property
    def identity(self) -> dict[str, Any]:
        """Fields that the cell's record has whatever comes of it."""
        return {
            "key": self.key,
            "experiment": self.experiment,
            "parameters": self.parameters,
            "seed": self.seed,
        }


def cell_key(parameters: Mapping[str, Any]) -> str:
    """A file name for a cell: its parameters where they are short, and a fingerprint that is always unique.

    >>> cell_key({"points": 6, "distance": 0.5})
    'points=6,distance=0.5-2861ce8ffc1d'
    """
    words = ",".join(f"{name}={value}" for name, value in parameters.items())
    readable = "".join(letter if letter.isalnum() or letter in "=,.-_" else "_" for letter in words)[:60]
    return f"{readable}-{fingerprint(dict(parameters))}"


def cell_seed(run_seed: int, experiment: str, parameters: Mapping[str, Any]) -> int:
    """The seed of a cell, from what the cell is and never from when or where it runs.

    >>> cell_seed(0, "a/b", {"n": 1}) == cell_seed(0, "a/b", {"n": 1})
    True
    >>> cell_seed(0, "a/b", {"n": 1}) == cell_seed(1, "a/b", {"n": 1})
    False
    """
    text = canonical_json([run_seed, experiment, dict(parameters)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


def run_cell(task: CellTask) -> dict[str, Any]:
    """Run one cell.

    Args:
        task: The cell to run.

    Returns:
        The cell's record: `status` is "done" with `tables` (columns of plain values) and `code` (see
        `source_fingerprint`), or "failed" with `traceback`; in both cases parameters, seed, seconds, peak
        memory in bytes, the worker.
    """
    record = {**task.identity, "worker": worker_name()}
    start = time.perf_counter()
    try:
        measure, code = _prepared(task)
        start = time.perf_counter()  # loading modules is no part of the cell
        with _limited(task), _peak_memory(task.device) as peak:
            results = measure()
        outcome = {"status": "done", "code": code, "tables": result_columns(results, task.parameters), **peak}
    except Exception:  # recorded with its traceback; the other cells go on
        outcome = {"status": "failed", "traceback": traceback.format_exc(), "peak_memory": _lifetime_peak()}
    return {**record, **outcome, "seconds": time.perf_counter() - start}


def worker_name() -> str:
    """Machine and process that run a cell."""
    return f"{socket.gethostname()}:{os.getpid()}"


def cell_record(identity: Mapping[str, Any], tables: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """The record of a finished cell that is none of an experiment.

    Args:
        identity: Key, parameters and seed of the cell.
        tables: What it gave, as plain values.
        seconds: Time it took.
    """
    outcome = {"status": "done", "tables": dict(tables), "seconds": seconds, "peak_memory": _lifetime_peak()}
    return {**identity, "worker": worker_name(), **outcome}


def _prepared(task: CellTask) -> tuple[Callable[[], CellResults], str | None]:
    """The cell as a call without arguments, everything it needs loaded; and the code it is made with."""
    import torch

    from symscope.runs._registry import find_experiment

    experiment = find_experiment(task.experiment, task.modules)
    config = config_from_plain(experiment.config, task.config)
    torch.manual_seed(task.seed)  # a cell that forgets its own generator stays reproducible
    context = CellContext(task.seed, task.run_seed, task.device)
    return lambda: experiment.measure(config, dict(task.parameters), context), source_fingerprint(experiment)


def result_columns(results: CellResults, parameters: Mapping[str, Any]) -> dict[str, dict[str, list[Any]]]:
    """Rows as columns of plain values, the cell's parameters first.

    Args:
        results: `{table: rows}`; every row of a table has the same columns.
        parameters: Parameters of the cell.

    Raises:
        InputError: A table that cannot name a file, rows that differ in their columns, hide a parameter, or
            hold something that is not a number, text, truth value or None.

    >>> result_columns({"errors": [{"error": 0.5}, {"error": 0.25}]}, {"n": 4})
    {'errors': {'n': [4, 4], 'error': [0.5, 0.25]}}
    """
    tables: dict[str, dict[str, list[Any]]] = {}
    for name, rows in results.items():
        if not FILE_NAME.fullmatch(name):
            raise InputError(f"table {name!r}: expected a name of letters, digits, - and _; it names a file")
        if not rows:
            continue
        names = list(rows[0])
        hidden = sorted(set(names) & set(parameters))
        if hidden:
            raise InputError(f"table {name!r}: columns {', '.join(hidden)} have the name of a cell parameter")
        for row in rows:
            if list(row) != names:
                raise InputError(f"table {name!r}: expected columns {names} in every row, got {list(row)}")
        table = {key: [_plain(value, name, key)] * len(rows) for key, value in parameters.items()}
        tables[name] = {**table, **{key: [_plain(row[key], name, key) for row in rows] for key in names}}
    return tables


def _plain(value: Any, table: str, column: str) -> Any:
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()  # a number of numpy or torch
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = str(tuple(value))  # a pattern of missing points, say: a label in a tidy table
    if value is not None and type(value) not in (bool, int, float, str):
        raise InputError(
            f"table {table!r}, column {column!r}: expected a number, text, truth value or None, got "
            f"{type(value).__name__}"
        )
    return value


@contextlib.contextmanager
def _limited(task: CellTask) -> Iterator[None]:
    """The cell's number of threads, put back afterwards when the cell runs in the user's own process."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(task.threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def _peak_memory(device: str) -> Iterator[dict[str, int]]:
    """Peak memory while the block runs, in bytes; the dictionary is filled at its end."""
    peak: dict[str, int] = {}
    if device == "cuda":
        import torch

        torch.cuda.reset_peak_memory_stats()
    resettable = _reset_peak()
    yield peak
    peak["peak_memory"] = _read_peak() if resettable else _lifetime_peak()
    if device == "cuda":
        peak["peak_device_memory"] = torch.cuda.max_memory_allocated()


def _reset_peak() -> bool:
    """Start counting the process's peak anew, where the system can (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def _read_peak() -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return _lifetime_peak()


def _lifetime_peak() -> int:
    try:
        import resource
    except ImportError:  # Windows keeps no such count
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
