"""A Dask cluster of this machine whose scheduler and workers are killed and started again."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from random import Random

from tests.runs.program import ENVIRONMENT, wait_until


class Cluster:
    """A scheduler and two workers, in processes of their own."""

    def __init__(self, place: Path) -> None:
        self.place, self.numbers = place, itertools.count()
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        place.mkdir()

    def _start(self, *words: str) -> tuple[subprocess.Popen[bytes], Path]:
        log = self.place / f"log-{next(self.numbers)}.txt"
        with open(log, "wb") as stream:
            command = [sys.executable, "-m", "dask", *words]
            process = subprocess.Popen(command, stdout=stream, stderr=stream, env=ENVIRONMENT, cwd=self.place)
        return process, log

    def ready(self) -> str:
        """The address of the scheduler; what was killed is started again first."""
        file = self.place / "scheduler.json"
        if self.scheduler is None or self.scheduler.poll() is not None:
            self.close()
            file.unlink(missing_ok=True)
            words = ("--port", "0", "--no-dashboard", "--host", "127.0.0.1")
            self.scheduler, _ = self._start("scheduler", "--scheduler-file", str(file), *words)
            wait_until(lambda: file.exists() and "address" in file.read_text(), "a scheduler", 120)
        self.workers = [one for one in self.workers if one.poll() is None]
        while len(self.workers) < 2:
            words = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
            worker, log = self._start("worker", "--scheduler-file", str(file), *words)
            self.workers.append(worker)
            wait_until(lambda log=log: "Registered to" in log.read_text(), "a worker", 120)
        return str(json.loads(file.read_text())["address"])

    def kill(self, random: Random, *, scheduler: bool) -> None:
        """Kill the scheduler or a worker."""
        victim = self.scheduler if scheduler else random.choice(self.workers)
        assert victim is not None
        victim.kill()
        victim.wait()

    def close(self) -> None:
        """End all processes."""
        for process in [*self.workers, *([self.scheduler] if self.scheduler else [])]:
            process.kill()
            process.wait()
        self.workers = []
