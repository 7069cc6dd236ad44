"""How the run talks to each side: one JSON object a line over a pipe, arrays as .npy files.

Standard library and NumPy alone, because both environments import it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Prepare = Callable[[dict[str, Any], np.ndarray], Callable[[], Any]]


def resident(field: str = "VmRSS") -> int:
    """Bytes of memory this process holds now (`VmRSS`), or held at most (`VmHWM`).

    Not `ru_maxrss`: that one survives exec, so it would count the process that started this one.
    """
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


def serve(prepare: Prepare, versions: dict[str, str]) -> None:
    """Answer requests until the pipe closes.

    `prepare(job, x)` gives a function without arguments that computes one Gram matrix and waits for it.
    Requests: `prepare` (load the inputs, run once, which compiles), `run` (seconds of one run), `save`,
    `memory`, `versions`.
    """
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints goes to standard error
    run: Callable[[], Any] | None = None
    started = 0
    for line in sys.stdin:
        job = json.loads(line)
        answer: dict[str, Any] = {}
        if job["do"] == "versions":
            answer = dict(versions)
        elif job["do"] == "prepare":
            x = np.load(job["inputs"], allow_pickle=False)
            started = resident()
            begin = time.perf_counter()
            run = prepare(job, x)
            run()
            answer = {"seconds": time.perf_counter() - begin}
        elif job["do"] == "run":
            assert run is not None
            begin = time.perf_counter()
            run()
            answer = {"seconds": time.perf_counter() - begin}
        elif job["do"] == "save":
            assert run is not None
            np.save(job["path"], np.asarray(run()))
        elif job["do"] == "memory":
            answer = {"peak": resident("VmHWM"), "started": started}
        else:
            raise ValueError(f"unknown request {job['do']!r}")
        answers.write(json.dumps(answer) + "\n")


class Side:
    """One of the two sides, as a process of its own on a fixed set of cores."""

    def __init__(self, python: str | Path, module: str, cores: int) -> None:
        available = sorted(os.sched_getaffinity(0))[:cores]
        environment = dict(os.environ, OMP_NUM_THREADS=str(len(available)), JAX_PLATFORMS="cpu")
        self._process = subprocess.Popen(
            [str(python), "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            preexec_fn=lambda: os.sched_setaffinity(0, available),
        )

    def ask(self, do: str, **job: Any) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **job}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise RuntimeError(f"{' '.join(self._process.args)} ended with {self._process.wait()} at {do!r}")  # type: ignore[arg-type]
        return dict(json.loads(line))

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.__exit__(None, None, None)  # closes both pipes, which ends the other end, and waits
