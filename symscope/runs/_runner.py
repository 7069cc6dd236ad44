"""Running: cells that are not there yet go to an executor, each is stored as it comes, the run closes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, final

from symscope.errors import InputError, nearest
from symscope.numerics import Progress, explained
from symscope.runs._cell import CellTask, run_cell
from symscope.runs._closing import finished_outcome
from symscope.runs._environment import environment, machine_in_words
from symscope.runs._outcome import RunOutcome
from symscope.runs._request import RunRequest
from symscope.runs._scheduling import Workers, finished_cells
from symscope.runs._source_code import source_fingerprint
from symscope.runs._store import DamagedRunError, RunFolder

OnFinish = Callable[[RunRequest, RunOutcome], None]


@explained
def run_experiments(
    requests: Sequence[RunRequest],
    out: Path,
    workers: Workers,
    *,
    progress: Progress | None = None,
    on_finish: OnFinish | None = None,
    warn: Callable[[str], None] = warnings.warn,
    fresh: bool = False,
    reorder: Callable[[list[CellTask]], list[CellTask]] | None = None,
    only: Mapping[str, Collection[str]] | None = None,
) -> list[RunOutcome]:
    """Run experiments, or what is left of them.

    A cell whose record is in the run folder is not run again, unless it failed. Results do not depend on
    `workers` or on the order of the cells.

    Args:
        requests: The runs to make.
        out: The folder that holds run folders.
        workers: Where the cells run.
        progress: Called as `progress(request.folder_name, done, total)` at the start and after every cell.
        on_finish: Called as `on_finish(request, outcome)` when an experiment's last cell is in.
        warn: Called with one line when finished cells of a user's own experiment were made before its code
            was changed, and when files of a run were damaged and are written anew.
        fresh: Run every cell, also those that are there.
        reorder: Changes the order in which cells are submitted.
        only: Run just the cells with these parameters, by name and as text: a long run in pieces.

    Returns:
        One outcome per request, in the same order; with `only`, none for a run whose other cells are missing.

    Raises:
        InputError: A folder that cannot be written or is damaged, a request that is made twice, a cluster
            that does not answer, or an `only` that no cell meets.
        KeyboardInterrupt: Ctrl-C; every finished cell is stored.

    >>> import tempfile
    >>> wanted = RunRequest.of("spectral/circles-distance", changes=["distances=0,1"], device="cpu")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [result] = run_experiments([wanted], Path(folder), Workers(processes=0))
    >>> result.failed, result.status
    (0, 0)
    """
    names = [request.folder_name for request in requests]
    for request in requests:
        if names.count(request.folder_name) > 1:
            raise InputError(f"{request.experiment.id} is asked for twice with the same config; name it once")
    with ExitStack() as locks:
        works = [_opened(request, out, locks, fresh, progress, on_finish, warn) for request in requests]
        if only:
            for work in works:
                work.left = _chosen(work, only)
        owners = {id(task): work for work in works for task in work.left}
        tasks = [task for work in works for task in work.left]
        if reorder is not None:
            tasks = reorder(tasks)
        for work in works:
            if work.earlier:
                warn(
                    f"{work.request.experiment.id}: {work.earlier} of {work.done} finished cells were made "
                    "with earlier code of this experiment and are kept; --fresh makes them anew"
                )
            work.report_progress()

        for threads, device in sorted({(task.threads, task.device) for task in tasks}):
            alike = [task for task in tasks if (task.threads, task.device) == (threads, device)]
            for task, record in finished_cells(run_cell, alike, workers):
                owners[id(task)].store(record)
        assert only or all(work.outcome for work in works)
        return [work.outcome for work in works if work.outcome is not None]


@final
class _Work:
    """One request in progress: the cells left, how many are done, the folder of their records."""

    def __init__(
        self,
        request: RunRequest,
        folder: RunFolder,
        fresh: bool,
        progress: Progress | None,
        on_finish: OnFinish | None,
        warn: Callable[[str], None],
    ) -> None:
        self.request, self.folder, self.progress, self.on_finish = request, folder, progress, on_finish
        self.warn = warn
        tasks = request.tasks()
        now, codes = source_fingerprint(request.experiment), {} if fresh else _codes(folder, tasks)
        self.left = [task for task in tasks if task.key not in codes]
        self.total, self.done = len(tasks), len(codes)
        self.earlier = sum(None not in (code, now) and code != now for code in codes.values())
        self.outcome: RunOutcome | None = None
        if self.left:
            folder.reopen()
        if self.left and self.done:
            note_machine(folder, environment(request.device), self.done, self.total)

    def report_progress(self) -> None:
        """Report how far it is; with the last cell the run is closed."""
        if self.progress is not None:
            self.progress(self.request.folder_name, self.done, self.total)
        if self.done == self.total:
            self.outcome = finished_outcome(self.request, self.folder, self.warn)
            if self.on_finish is not None:
                self.on_finish(self.request, self.outcome)

    def store(self, record: dict[str, Any]) -> None:
        """Keep one cell's record."""
        self.folder.save_cell(record)
        self.done += 1
        self.report_progress()


def note_machine(folder: RunFolder, here: Mapping[str, Any], done: int, total: int) -> None:
    """Write into environment.json that a run goes on on another machine, or with other versions.

    Args:
        folder: The run folder.
        here: Versions and machine, as `environment` gives them.
        done: Number of cells that were run before.
        total: Number of cells.
    """
    try:
        stored = folder.environment()
    except DamagedRunError:
        return  # the closing writes it anew and says so
    words, known = machine_in_words(here), str(stored.get("continued", ""))
    if words not in (machine_in_words(stored), known.rpartition(" cells on ")[2]):
        note = f"{known}{'; ' if known else ''}after {done} of {total} cells on {words}"
        folder.write_json("environment.json", {**stored, "continued": note})


def _chosen(work: _Work, only: Mapping[str, Collection[str]]) -> list[CellTask]:
    """Of the cells that are left, those asked for."""
    cells = [task.parameters for task in work.request.tasks()]
    for name, values in only.items():
        known = {str(cell[name]) for cell in cells if name in cell}
        if not known:
            names = sorted({name for cell in cells for name in cell})
            raise InputError(f"only: {work.request.experiment.id} has no cells by {name!r}; it has {names}")
        unknown = set(values) - known
        if unknown:
            raise InputError(
                f"only: no cell has {name} = {min(unknown)}; {nearest(min(unknown), sorted(known))}"
            )
    return [
        task
        for task in work.left
        if all(str(task.parameters.get(name)) in values for name, values in only.items())
    ]


def _opened(
    request: RunRequest,
    out: Path,
    locks: ExitStack,
    fresh: bool,
    progress: Progress | None,
    on_finish: OnFinish | None,
    warn: Callable[[str], None],
) -> _Work:
    folder = RunFolder(out / request.folder_name)
    try:
        folder.create(request.description(), environment(request.device))
    except DamagedRunError as error:  # of run.json: the folder's name has the fingerprint of what was in it
        folder.write_json("run.json", request.description())
        folder.make_parts()
        warn(f"{error}; written anew")
    locks.enter_context(folder.lock())
    return _Work(request, folder, fresh, progress, on_finish, warn)


def _codes(folder: RunFolder, tasks: Sequence[CellTask]) -> dict[str, str | None]:
    """The code that made each finished cell; None where it was not kept."""
    records = ((task.key, folder.cell(task.key)) for task in tasks)
    return {key: record.get("code") for key, record in records if record and record["status"] == "done"}
