"""The least a case can cost: operations and bytes, at the rates this machine reaches in the same run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from benchmarks.cases import Case

# Square root, arc cosine and the two sums of one ReLU step for the NTK, as operations of short polynomials.
STEP = 30


@dataclass(frozen=True)
class Rates:
    """What the machine reaches: operations and bytes per second, in matrix products and in copies."""

    operations: float
    bytes: float


def operations(case: Case) -> float:
    """Additions and multiplications of the symmetric half; windows are summed one axis after the other."""
    pairs = case.images * (case.images + 1) / 2
    pixels = case.side**2
    if not case.conv:
        return pairs * (2 * pixels + case.dense * STEP)
    positions = pixels if case.readout == "fc" else pixels**2
    return pairs * positions * (1 + case.conv * (2 * 2 * 2 + STEP) + 2)


def bytes_moved(case: Case, itemsize: int) -> float:
    """Inputs read once, the Gram written once."""
    return float(itemsize * (case.images * case.side**2 + case.images**2))


def floor_seconds(case: Case, itemsize: int, rates: Rates) -> float:
    """The longer of computing and moving."""
    return max(operations(case) / rates.operations, bytes_moved(case, itemsize) / rates.bytes)


def machine_rates(dtype: torch.dtype, size: int = 1536) -> Rates:
    """Measured: a square matrix product, and a copy too large for the cache (read and written)."""
    a = torch.ones(size, size, dtype=dtype)
    b = torch.ones(16 * 2**20, dtype=dtype)
    c = torch.empty_like(b)
    return Rates(2 * size**3 / _median(lambda: a @ a), 2 * b.nbytes / _median(lambda: c.copy_(b)))


def _median(run: Callable[[], object], repeats: int = 5) -> float:
    run()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)
