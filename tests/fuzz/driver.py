"""Runs inputs in forked processes, each with a limit on time and memory, and counts what they lead to."""

from __future__ import annotations

import contextlib
import faulthandler
import itertools
import multiprocessing
import os
import pickle
import re
import resource
import shutil
import signal
import socket
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from typing import Any, final

import torch

from tests.fuzz.area_api import api, methods, objects
from tests.fuzz.area_cli import cli
from tests.fuzz.area_files import files
from tests.fuzz.area_grammar import grammar
from tests.fuzz.area_runs import runs
from tests.fuzz.outcome import Kind, Outcome, of_error

Area = Callable[[Random, Path, Path], tuple[str, Callable[[], Outcome]]]
AREAS: dict[str, Area] = {
    "cli": cli, "files": files, "grammar": grammar, "runs": runs, "api": api, "objects": objects,
    "methods": methods,
}  # fmt: skip
SECONDS = 60  # of one input
BYTES = 4 * 2**30  # that an input may use beside what the program has when it starts
BATCH = 25  # inputs of a process: a fork costs a tenth of a second


@final
@dataclass
class Fault:
    """A distinct fault: how often it was met, and an input that shows it."""

    outcome: Outcome
    area: str
    seed: int
    words: str
    count: int = 0


@final
@dataclass
class Tally:
    """Outcomes counted by area, and every distinct fault."""

    counts: dict[str, Counter[Kind]] = field(default_factory=dict)
    seconds: Counter[str] = field(default_factory=Counter)
    faults: dict[tuple[Kind, str], Fault] = field(default_factory=dict)

    def add(self, area: str, seed: int, words: str, outcome: Outcome) -> None:
        """Count one input."""
        self.counts.setdefault(area, Counter())[outcome.kind] += 1
        if outcome.kind.fault:
            new = Fault(outcome, area, seed, words)
            self.faults.setdefault((outcome.kind, outcome.place), new).count += 1


def run_input(area: str, seed: int, stock: Path, say: Callable[[str], None]) -> Outcome:
    """One input in this process, in a folder of its own; it is described before it is run."""
    folder = stock.parent / "inputs" / f"{area}-{seed}-{os.getpid()}"
    folder.mkdir(parents=True)
    os.chdir(folder)
    torch.manual_seed(seed)
    torch.set_default_dtype(torch.float32)
    try:
        words, call = AREAS[area](Random(f"{area}:{seed}"), stock, folder)
        say(words.replace(f"{folder}/", ""))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except BaseException as error:  # a fault of the fuzz suite itself is shown as one
        return of_error(error)
    finally:
        os.chdir(stock)
        shutil.rmtree(folder, ignore_errors=True)


def fuzz(
    seeds: Mapping[str, Iterable[int]],
    stock: Path,
    *,
    seconds: float | None,
    cores: int,
    on_result: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Run inputs until seeds or time run out; the area that has had the least time so far is next.

    Args:
        seeds: Seeds of each area, which may be without end.
        stock: Folder of good files.
        seconds: Time to stop after; None for no limit.
        cores: Processes at a time.
        on_result: Called after each input.
    """
    tally, workers = Tally(), list[_Worker]()
    left = {area: _Seeds(some) for area, some in seeds.items()}
    end = time.monotonic() + (float("inf") if seconds is None else seconds)
    try:
        while time.monotonic() < end:
            while len(workers) < cores and (open_areas := [area for area in left if left[area]]):
                area = min(
                    open_areas, key=lambda one: tally.seconds[one] + sum(w.area == one for w in workers)
                )
                workers.append(_Worker(area, left[area].take(BATCH), stock))
            if not workers:
                break
            wait([worker.pipe for worker in workers], timeout=0.5)
            for worker in list(workers):
                for seed, words, outcome in worker.news():
                    tally.add(worker.area, seed, words, outcome)
                    on_result(tally)
                tally.seconds[worker.area] += worker.elapsed()
                if worker.ended:
                    left[worker.area].give_back(worker.left)
                    workers.remove(worker)
    finally:
        for worker in workers:
            worker.kill()
    return tally


class _Seeds:
    """Seeds, some of them given back by a process that ended."""

    def __init__(self, seeds: Iterable[int]) -> None:
        self._new, self._back = iter(seeds), deque[int]()

    def take(self, count: int) -> list[int]:
        result = [self._back.popleft() for _ in range(min(count, len(self._back)))]
        return result + list(itertools.islice(self._new, count - len(result)))

    def give_back(self, seeds: Iterable[int]) -> None:
        self._back.extend(seeds)

    def __bool__(self) -> bool:
        if not self._back:
            self.give_back(self.take(1))
        return bool(self._back)


class _Worker:
    """A forked process that runs a batch of inputs of one area."""

    def __init__(self, area: str, seeds: list[int], stock: Path) -> None:
        self.area, self.left, self.ended = area, deque(seeds), False
        self.pipe, theirs = multiprocessing.Pipe(duplex=False)
        context = multiprocessing.get_context("fork")
        self._process: BaseProcess = context.Process(target=_work, args=(theirs, area, seeds, stock))
        self._process.start()
        theirs.close()
        self._began = self._seen = time.monotonic()
        self._words, self._trace = "", stock.parent / f"trace-{self._process.pid}"

    def elapsed(self) -> float:
        """Seconds since it was last asked."""
        before, self._seen = self._seen, time.monotonic()
        return self._seen - before

    def news(self) -> list[tuple[int, str, Outcome]]:
        """Inputs that ended since it was last asked, the one that ended the process among them."""
        result = []
        try:
            while self.pipe.poll():
                message = self.pipe.recv()
                self._began = time.monotonic()
                if isinstance(message, str):
                    self._words = message
                else:
                    result.append((self.left.popleft(), self._words, message))
        except (EOFError, OSError, ValueError, pickle.UnpicklingError) as error:
            self._process.join(5)
            code = self._process.exitcode
            self.kill()
            if (
                code or not isinstance(error, EOFError)
            ) and self.left:  # an input may write to any descriptor
                place = f"the process ended with status {code}"
                result.append((self.left.popleft(), self._words, Outcome(Kind.TRACEBACK, place)))
        if not self.ended and self.left and time.monotonic() - self._began > SECONDS:
            self.kill()
            trace = self._trace.read_text()
            place = re.search(r'File ".*?/(symscope/.*?)", line (\d+) in (\w+)', trace)
            where = f"in {place[1]}:{place[2]} {place[3]}" if place else f"{self.area}"
            result.append((self.left.popleft(), self._words, Outcome(Kind.HANG, where, trace)))
        return result

    def kill(self) -> None:
        """End the process and all it has started."""
        self.ended = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid or 0, signal.SIGKILL)
        self._process.join()
        self.pipe.close()


def _work(pipe: Connection, area: str, seeds: list[int], stock: Path) -> None:
    """Run inputs one after the other; a fault ends the process, so that it cannot spoil the next input."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    socket.socket.connect = _no_network  # type: ignore[assignment, method-assign]
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, used + BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(silence, stream)
    trace = open(stock.parent / f"trace-{os.getpid()}", "w")  # noqa: SIM115, open as long as the process
    for seed in seeds:
        trace.truncate(0)
        faulthandler.dump_traceback_later(0.9 * SECONDS, file=trace)
        outcome = run_input(area, seed, stock, pipe.send)
        faulthandler.cancel_dump_traceback_later()
        pipe.send(outcome)
        if outcome.kind.fault:
            break
    pipe.close()
    os._exit(0)


def _no_network(self: socket.socket, address: Any) -> None:
    raise ConnectionRefusedError(111, "Connection refused")
