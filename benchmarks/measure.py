"""One case on both sides: the peer's best setting first, then alternating runs in fresh processes."""

from __future__ import annotations

import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import Case, inputs
from benchmarks.peer.environment import peer_python
from benchmarks.protocol import Side


@dataclass(frozen=True)
class Measured:
    """Seconds and bytes of one side on one case."""

    seconds: tuple[float, ...]
    peak: int
    started: int
    first: float
    setting: str = ""

    @property
    def median(self) -> float:
        """Of all runs after the first."""
        return statistics.median(self.seconds)

    @property
    def working(self) -> int:
        """Peak memory above what the process held when the inputs were loaded."""
        return self.peak - self.started


@dataclass(frozen=True)
class Comparison:
    """Both sides on one case in one dtype, and how far their results are apart, off the diagonal."""

    case: Case
    dtype: str
    ours: Measured
    peer: Measured | None
    difference: float | None
    scouted: dict[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """How many times faster we are."""
        return None if self.peer is None else self.peer.median / self.ours.median


@dataclass(frozen=True)
class Options:
    """How to measure."""

    repeats: int
    cores: int
    peer: bool


def compare(
    case: Case, dtype: str, options: Options, results: dict[tuple[str, str, str], np.ndarray]
) -> Comparison:
    """Measure one case; the two Gram matrices are left in `results` under (case, dtype, side)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "inputs.npy"
        np.save(path, inputs(case).astype(dtype))
        job = {**case.job(), "dtype": dtype, "inputs": str(path), "batch": 0}
        scouted = _scout(case, job, options) if options.peer else {}
        job["batch"] = int(min(scouted, key=scouted.__getitem__)) if scouted else 0
        setting = f"nt.batch({job['batch']})" if job["batch"] else "jit"
        ours = Side(sys.executable, "benchmarks.ours", options.cores)
        peer = Side(peer_python(), "benchmarks.peer.server", options.cores) if options.peer else None
        sides = {"ours": ours} | ({"peer": peer} if peer is not None else {})
        try:
            first = {name: side.ask("prepare", **job)["seconds"] for name, side in sides.items()}
            seconds: dict[str, list[float]] = {name: [] for name in sides}
            for turn in range(options.repeats):
                for name in sorted(sides, reverse=turn % 2 == 1):
                    seconds[name].append(sides[name].ask("run")["seconds"])
            memory = {name: side.ask("memory") for name, side in sides.items()}
            for name, side in sides.items():
                side.ask("save", path=str(Path(folder) / f"{name}.npy"))
                results[case.key, dtype, name] = np.load(Path(folder) / f"{name}.npy", allow_pickle=False)
        finally:
            for side in sides.values():
                side.__exit__()
    done = {
        name: Measured(tuple(seconds[name]), memory[name]["peak"], memory[name]["started"], first[name], text)
        for name, text in (("ours", ""), ("peer", setting))
        if name in sides
    }
    apart = off_diagonal(results[case.key, dtype, "ours"], results[case.key, dtype, "peer"]) if peer else None
    return Comparison(case, dtype, done["ours"], done.get("peer"), apart, scouted)


def _scout(case: Case, job: dict[str, Any], options: Options) -> dict[str, float]:
    """Seconds of the peer at each of its settings, after compilation; batch size 0 is no batching."""
    times = {}
    for batch in (0, *case.batches):
        with Side(peer_python(), "benchmarks.peer.server", options.cores) as side:
            side.ask("prepare", **{**job, "batch": batch})
            times[str(batch)] = min(side.ask("run")["seconds"] for _ in range(2))
    return times


def off_diagonal(a: np.ndarray, b: np.ndarray) -> float:
    """Largest relative difference between two matrices off the diagonal."""
    apart = np.abs(a.astype(np.float64) - b) / np.abs(b)
    np.fill_diagonal(apart, 0.0)
    return float(apart.max())
