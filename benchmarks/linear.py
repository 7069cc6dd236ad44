"""`python -m benchmarks.linear`: regression on symmetric data at growing sizes.

`moments` streams samples through `streamed_moments`; `rates` takes the decay rates of such a problem from the
full spectrum (`regression_flow`) and from both its ends (`extreme_rates`), to see from where on the latter
pays. Each time stands beside a floor: the operations that cannot be avoided, at the rate that matrix products
reach on the same machine in the same minute.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.protocol import resident
from symscope import groups
from symscope.linear import SecondMoments, extreme_rates, orbit_regression, regression_flow, streamed_moments

ORDER = 4  # of the cyclic group in `rates`
COUNT = 4  # rates asked for at each end
WANTED = (10_000, 1_000_000)  # features and samples a user may come with


def product_rate(device: torch.device, size: int) -> float:
    """Operations per second of a product of square matrices in float64: the best of three."""
    a = torch.ones(size, size, dtype=torch.float64, device=device)
    best = min(timed(lambda: a @ a, device)[0] for _ in range(3))
    return 2 * size**3 / best


def timed(run: Callable[[], Any], device: torch.device) -> tuple[float, Any]:
    """Seconds until the result is there, and the result.

    On a CPU these are processor seconds, of all threads together: other work on the machine changes them
    less than it changes the time that passes.
    """
    clock = time.perf_counter if device.type == "cuda" else time.process_time
    _wait(device)
    begin = clock()
    result = run()
    _wait(device)
    return clock() - begin, result


def repeated(x: Tensor, y: Tensor, times: int) -> Iterator[tuple[Tensor, Tensor]]:
    """One batch again and again: a stream whose samples cost nothing to make."""
    for _ in range(times):
        yield x, y


def operations(features: int, samples: int) -> float:
    """Multiplications and additions of the lower half of `X^T X`, and of `X^T y`."""
    return float(samples * features * (features + 1) + 2 * samples * features)


def moments(features: int, samples: int, batch: int, device: torch.device, rate: float) -> dict[str, Any]:
    """Second moments of a stream, against those of its one batch times the number of batches."""
    x, y = _batch(features, batch, device)
    times = -(-samples // batch)
    before = _memory(device, reset=True)
    seconds, result = timed(lambda: streamed_moments(repeated(x, y, times), device=device), device)
    peak = _memory(device) - before
    expected = times * (x.mT @ x)
    done = operations(features, times * batch)
    return {
        "features": features,
        "samples": times * batch,
        "seconds": seconds,
        "operations": done,
        "times floor": seconds * rate / done,
        "peak GB": peak / 1e9,
        "largest relative difference": float((result.xx - expected).abs().max() / expected.abs().max()),
    }


def rates(features: int, device: torch.device, rate: float) -> dict[str, Any]:
    """Decay rates of `features / 4` copies of the cyclic group of order 4, in two ways."""
    copies = features // ORDER
    rep = copies * groups.permutation(groups.cyclic(ORDER))
    x, y = _batch(ORDER * copies, 2 * ORDER * copies, device)
    xx, xy = x.mT @ x, x.mT @ y
    seconds, problem = timed(
        lambda: orbit_regression(SecondMoments(xx, xy, float(y.square().sum()), len(x)), rep), device
    )
    full, solution = timed(lambda: regression_flow(problem.k, problem.c), device)
    lanczos, ends = timed(lambda: extreme_rates(problem, COUNT, seed=0), device)
    result = torch.cat([ends.slowest, ends.fastest])
    away = (result[:, None] - solution.rates).abs().amin(1).max() / solution.rates[-1]
    return {
        "features": ORDER * copies,
        "orbits s": seconds,
        "full spectrum s": full,
        "both ends s": lanczos,
        "Cholesky at the floor s": (ORDER * copies) ** 3 / 3 / rate,
        "largest relative difference": float(away),
    }


def crossover(rows: list[dict[str, Any]]) -> int | None:
    """The smallest size from which on both ends were faster than the full spectrum; None if never."""
    result = None
    for row in sorted(rows, key=lambda row: row["features"], reverse=True):
        if row["both ends s"] >= row["full spectrum s"]:
            break
        result = int(row["features"])
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--features", default="500,1000,2000,4000", help="sizes of the streamed moments")
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--spectra", default="200,400,800,1600,3200", help="sizes of the spectra")
    parser.add_argument("--rate-size", type=int, default=2048, help="side of the matrices of the floor")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    device = torch.device(given.device)
    result: dict[str, Any] = {
        "device": str(device),
        "threads": torch.get_num_threads(),
        "moments": [],
        "rates": [],
    }

    def note(kind: str, row: dict[str, Any]) -> None:
        result[kind].append(row)
        print(kind, json.dumps(row), flush=True)

    for features in map(int, given.features.split(",")):
        rate = product_rate(device, given.rate_size)
        note("moments", {**moments(features, given.samples, given.batch, device, rate), "flop/s": rate})
    for features in map(int, given.spectra.split(",")):
        rate = product_rate(device, given.rate_size)
        note("rates", {**rates(features, device, rate), "flop/s": rate})
    result["crossover"] = crossover(result["rates"])
    last = result["moments"][-1]
    result["wanted"] = {
        "features, samples": WANTED,
        "operations": operations(*WANTED),
        "hours at the last rate, not run": operations(*WANTED) / last["operations"] * last["seconds"] / 3600,
    }
    print(json.dumps({key: result[key] for key in ("crossover", "wanted")}), flush=True)
    if given.json is not None:
        given.json.write_text(json.dumps(result, indent=1))


def _batch(features: int, rows: int, device: torch.device) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(features)
    # directions of very different size, as features of real data are
    sizes = torch.logspace(0, -2, features, dtype=torch.float64)
    x = torch.randn(rows, features, generator=generator, dtype=torch.float64) * sizes
    return x.to(device), x.sum(1).to(device)


def _memory(device: torch.device, reset: bool = False) -> int:
    """Bytes held at most; with `reset`, bytes held now."""
    if device.type != "cuda":
        return resident("VmRSS" if reset else "VmHWM")
    if reset:
        torch.cuda.reset_peak_memory_stats(device)
        return torch.cuda.memory_allocated(device)
    return torch.cuda.max_memory_allocated(device)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


if __name__ == "__main__":
    main()
