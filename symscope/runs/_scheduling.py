"""Cells through an executor: each is given back as it finishes, also when a worker process dies."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, final, runtime_checkable

from symscope.errors import InputError
from symscope.numerics import checked, shortened
from symscope.runs._environment import usable_cores
from symscope.runs._executors import dask_executor, dask_slots, local_executor, worker_count

MOST_WORKERS = 1024  # processes of one machine

Record = dict[str, Any]


@runtime_checkable
class Task(Protocol):
    """What a worker is sent: anything that can be pickled and says what a record of it must hold."""

    @property
    def threads(self) -> int:
        """Threads of the cell."""

    @property
    def device(self) -> str:
        """Device on which the cell runs, "cpu" or "cuda"."""

    @property
    def identity(self) -> Record:
        """Fields that the cell's record has whatever comes of it."""


AnyTask = TypeVar("AnyTask", bound=Task)


@checked
@final
@dataclass(frozen=True)
class Workers:
    """Where cells run: in local processes or on a Dask cluster.

    Attributes:
        processes: Number of local processes; None for as many as fit the cores, 0 to use this process.
        dask: Address of a Dask scheduler.
    """

    processes: int | None = None
    dask: str | None = None

    def __post_init__(self) -> None:
        if self.dask is not None and self.processes is not None:
            raise InputError("--workers and --dask exclude each other: a Dask cluster has its own workers")
        if self.processes is not None and not 0 <= self.processes <= MOST_WORKERS:
            raise InputError(
                f"--workers is a number of processes, 0 for none, at most {MOST_WORKERS}; got "
                f"{shortened(self.processes)}"
            )

    @property
    def threads(self) -> int:
        """Threads of a cell that needs no number of its own: local processes share the cores evenly."""
        return 1 if self.dask is not None else max(1, usable_cores() // (self.processes or usable_cores()))

    def slots(self, device: str) -> int:
        """How many cells make progress at a time: no more than there are cores, and one on a GPU.

        Raises:
            InputError: A cluster that does not answer.
        """
        if self.dask is not None:
            return dask_slots(self.dask)
        return 1 if device == "cuda" else min(self.processes or usable_cores(), usable_cores())

    @contextmanager
    def executor(self, *, threads: int, device: str, single: bool = False) -> Iterator[tuple[Executor, int]]:
        """An executor, and how many cells may be in flight on it; `single` gives one worker, one cell."""
        if self.dask is not None:
            with dask_executor(self.dask) as executor:
                yield executor, 1 if single else 1024
            return
        count = worker_count(self.processes, threads=threads, device=device)
        count = min(count, 1) if single else count
        with local_executor(count, threads=threads) as executor:
            yield executor, 1 if single else max(1, 2 * count)


def finished_cells(
    run: Callable[[AnyTask], Record], tasks: Sequence[AnyTask], workers: Workers
) -> Generator[tuple[AnyTask, Record], None, None]:
    """Run tasks of one device and number of threads, and give each with its record as it finishes.

    When a worker process dies, the tasks in flight are tried again one by one in one process, so that only
    the one that kills it is recorded as failed; the others go on in a new one.

    Args:
        run: Function of a task that gives its record; at the top level of a module, for workers to find it.
        tasks: Tasks in the order in which they are submitted.
        workers: Where they run.

    Raises:
        InputError: A cluster that does not answer, or gives up its work.
    """
    waiting = deque(tasks)
    while waiting:
        suspects = deque((yield from _until_broken(run, waiting, workers, single=False)))
        while suspects:
            for killer in (yield from _until_broken(run, suspects, workers, single=True)):
                yield killer, _lost(killer, "its worker process died (killed, or out of memory?)")


def _until_broken(
    run: Callable[[AnyTask], Record], waiting: deque[AnyTask], workers: Workers, *, single: bool
) -> Generator[tuple[AnyTask, Record], None, list[AnyTask]]:
    """Run tasks until none is left, or until the executor breaks; returns those that were in flight then."""
    first = waiting[0]
    with workers.executor(threads=first.threads, device=first.device, single=single) as (executor, window):
        flying: dict[Future[Record], AnyTask] = {}
        while waiting or flying:
            try:
                while waiting and len(flying) < window:
                    flying[executor.submit(run, waiting[0])] = waiting[0]
                    waiting.popleft()
            except BrokenExecutor:  # before it could take this one, which therefore goes on waiting
                if not flying:
                    return []
            finished, _ = wait(flying, return_when=FIRST_COMPLETED)
            broken = []
            for future in finished:
                task = flying.pop(future)
                if future.cancelled():
                    raise InputError(
                        "the cluster gave up its work; finished cells are kept, run the same command again"
                    )
                error = future.exception()
                if isinstance(error, BrokenExecutor):
                    broken.append(task)
                elif error is not None:
                    yield task, _lost(task, f"{type(error).__name__}: {error}")
                else:
                    yield task, future.result()
            if broken:
                return [*broken, *flying.values()]
    return []


def _lost(task: Task, reason: str) -> Record:
    """The record of a cell whose worker could not report the result."""
    return {
        **task.identity,
        "worker": "",
        "status": "failed",
        "traceback": f"The cell ended without a result: {reason}\n",
        "seconds": 0.0,
        "peak_memory": 0,
    }
