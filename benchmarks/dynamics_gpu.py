"""`python -m benchmarks.dynamics_gpu`: how accurate split products are, and how long Fig. 1 a-c takes.

First the products of the large layers at their real sizes: split, float32 and TF32 against float64, with
times. Then one epoch of every strategy for one run (a block of runs for permutations) of each experiment at
paper size, on random data of the right shape, and what the whole takes: 30 runs x 50 epochs, and the runs
that are trained in double precision too.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from symscope.dynamics import DeclaredNetwork, TrainingProblem
from symscope.networks.losses import binary_cross_entropy_loss, soft_cross_entropy_loss
from symscope_papers.dynamics.permutation.config import Permutation
from symscope_papers.dynamics.permutation.measure import graph_network
from symscope_papers.dynamics.rotation.config import FOUR, Rotation
from symscope_papers.dynamics.rotation.measure import mask_network, two_masks
from symscope_papers.dynamics.strategies.config import DTYPES, THREE, Setting, Strategy
from symscope_papers.dynamics.strategies.measure import (
    follow_paths,
    product_rate,
    product_ways,
    starting_layers,
)
from symscope_papers.dynamics.strategies.paths import gradient_flops
from symscope_papers.dynamics.strategies.products import half_product, product, product_flops, rounded
from symscope_papers.dynamics.translation.config import Translation
from symscope_papers.dynamics.translation.measure import digit_network

AUTHORS_HOURS = 75.0
TINY = {
    "permutation": {
        "nodes": 4, "graphs": 20, "channels": 2, "invariant": 3, "hidden": 2, "runs": 2, "epochs": 2,
        "passes": 3, "batch": 5, "block": 2, "check_epochs": 1,
    },
    "translation": {
        "size": 4, "images": 20, "channels": (2, 2), "invariant": 3, "runs": 2, "epochs": 2, "passes": 3,
        "batch": 5, "check_runs": 1, "check_epochs": 1,
    },
    "rotation": {
        "size": 4, "images": 20, "channels": (2, 2, 2), "runs": 2, "epochs": 2, "passes": 3, "batch": 5,
        "check_runs": 1, "check_epochs": 1,
    },
}  # fmt: skip


@dataclass(frozen=True)
class Accuracy:
    """One product, one way: its error against float64, and its time."""

    what: str
    way: str
    rows: int
    inner: int
    columns: int
    error: float
    seconds: float
    rate: float


@dataclass(frozen=True)
class Epoch:
    """One epoch of one strategy."""

    experiment: str
    strategy: str
    precision: str
    runs: int
    seconds: float
    flops: float
    floor_seconds: float
    peak_gb: float


def now(device: torch.device) -> float:
    """The time, the device having finished."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def timed(run: Callable[[], object], device: torch.device, repeats: int = 3) -> float:
    """The least time of some repeats, after one that does not count."""
    run()
    times = []
    for _ in range(repeats):
        begin = now(device)
        run()
        times.append(now(device) - begin)
    return min(times)


def accuracies(rows: int, width: int, device: torch.device) -> list[Accuracy]:
    """The three products of a square layer: forward, back to inputs, back to the layer.

    The error is the largest one over `|row| |column|`, lengths of what is multiplied: rounding of float32 in
    a sum of many terms is about 1e-7 of it.
    """
    generator = torch.Generator(device).manual_seed(0)
    x = torch.nn.functional.leaky_relu(torch.randn(rows, width, device=device, generator=generator))
    back = 1e-4 * torch.randn(rows, width, device=device, generator=generator)
    layer = torch.randn(width, width, device=device, generator=generator) / 14
    result = []
    for what, a, b in (("forward", x, layer.mT), ("to inputs", back, layer), ("to layer", back.mT, x)):
        exact = a.double() @ b.double()
        scale = a.double().norm(dim=1)[:, None] * b.double().norm(dim=0)
        for way, multiply in ways(device).items():
            one = multiply(a, b)
            error = float(((one.double() - exact).abs() / scale).max())
            seconds = timed(lambda m=multiply, a=a, b=b: m(a, b), device)  # type: ignore[misc]
            flops = product_flops(a.shape[0], a.shape[1], b.shape[1])
            result.append(Accuracy(what, way, *a.shape, b.shape[1], error, seconds, flops / seconds))
    return result


def ways(device: torch.device) -> dict[str, Callable[[Tensor, Tensor], Tensor]]:
    """Products to compare; TF32 only where it is."""
    chosen: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
        "split": lambda a, b: product(a, b, halved=True),
        "float32": lambda a, b: product(a, b, halved=False),
        "rounded": _rounded,
    }
    if device.type == "cuda":
        chosen["tf32"] = _tf32
    return chosen


def _rounded(a: Tensor, b: Tensor) -> Tensor:
    """Both sides rounded to one half, as in mixed precision for gradients of layers."""
    (left, scale), (right, other) = rounded(a), rounded(b)
    return half_product(left, right).mul_(scale * other)


def _tf32(a: Tensor, b: Tensor) -> Tensor:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        return a @ b
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def random_problem(config: Setting, dtype: torch.dtype, device: torch.device) -> TrainingProblem:
    """The network of an experiment on random data of its shape: times depend on nothing else."""
    generator = torch.Generator().manual_seed(0)
    network, loss, samples = _network(config)
    shape = (samples // config.batch, config.batch)
    x = torch.rand(*shape, network.sources[0].dim, generator=generator) - 0.5
    y = torch.rand(*shape, network.output.dim, generator=generator).round()
    return TrainingProblem(network, loss, x.to(device, dtype), y.to(device, dtype))


def _network(config: Setting) -> tuple[DeclaredNetwork, Any, int]:
    if isinstance(config, Permutation):
        network = graph_network(config.nodes, config.channels, config.invariant, config.hidden)
        return network, binary_cross_entropy_loss, config.graphs
    if isinstance(config, Translation):
        return (
            digit_network(config.size, config.channels, config.invariant),
            soft_cross_entropy_loss,
            config.images,
        )
    assert isinstance(config, Rotation)
    return mask_network(config.size, config.channels), two_masks, config.images


def epochs(name: str, config: Setting, ways: Sequence[Strategy], device: torch.device) -> list[Epoch]:
    """One epoch of every strategy, in the experiment's precision and once in double where that differs."""
    result = []
    for precision in dict.fromkeys((config.precision, "double")):
        problem = random_problem(config, DTYPES[precision], device)
        runs = list(range(config.block if config.together else 1))
        start = starting_layers(problem, runs, 0)
        kinds = product_ways(precision, device)
        on_halves = device.type == "cuda" and any(kinds.values())
        rate = product_rate(device, torch.float16 if on_halves else problem.x.dtype)
        for way in ways:
            follow_paths(config, problem, start, way, runs, 0, 1, precision)  # a first, which does not count
            if device.type == "cuda":
                torch.cuda.reset_peak_memory_stats(device)
            begin = now(device)
            path = follow_paths(config, problem, start, way, runs, 0, 1, precision)
            seconds = now(device) - begin
            peak = torch.cuda.max_memory_allocated(device) / 1e9 if device.type == "cuda" else math.nan
            flops = gradient_flops(problem, path.samples, **kinds)
            result.append(Epoch(name, way.name, precision, len(runs), seconds, flops, flops / rate, peak))
    return result


def whole(config: Setting, timings: Sequence[Epoch]) -> dict[str, float]:
    """What all runs, and those in double precision, take: minutes, operations, share of the floor."""
    own = [one for one in timings if one.precision == config.precision]
    double = [one for one in timings if one.precision == "double"]
    times = config.runs * config.epochs / own[0].runs
    checks = config.check_runs * config.check_epochs
    seconds = times * sum(one.seconds for one in own)
    both = checks * (sum(one.seconds for one in double) + sum(one.seconds for one in own))
    floor = times * sum(one.floor_seconds for one in own)
    return {
        "minutes": (seconds + both) / 60,
        "training minutes": seconds / 60,
        "flops": times * sum(one.flops for one in own),
        "floor minutes": floor / 60,
        "share of floor": floor / seconds,
        "largest cell (min)": seconds * min(config.block, config.runs) / config.runs / 60,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dynamics_gpu", description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true", help="sizes of a test")
    parser.add_argument("--only", nargs="+", choices=list(TINY), default=list(TINY))
    parser.add_argument("--json", help="file for the numbers")
    asked = parser.parse_args(arguments)
    device = torch.device(asked.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    print(f"{name}, torch {torch.__version__}", flush=True)
    rows, width = (60, 32) if asked.tiny else (20_000, 32 * 14 * 14)
    products = accuracies(rows, width, device)
    print(f"\nproducts of {rows} samples with a layer {width} x {width}; error over |row| |column|")
    print("product     way        error     ms   Tflop/s")
    for one in products:
        print(
            f"{one.what:10s}  {one.way:8s} {one.error:8.1e} {1e3 * one.seconds:6.2f} {one.rate / 1e12:9.2f}"
        )
    configs: dict[str, tuple[Setting, Sequence[Strategy]]] = {
        "permutation": (Permutation(), THREE),
        "translation": (Translation(), THREE),
        "rotation": (Rotation(), FOUR),
    }
    timings, totals = [], {}
    print("\nexperiment   strategy     precision  runs  s per epoch    flops  share of floor  peak GB")
    for key in asked.only:
        config, ways = configs[key]
        config = replace(config, **TINY[key]) if asked.tiny else config  # type: ignore[type-var]
        result = epochs(key, config, ways, device)
        for epoch in result:
            print(
                f"{key:12s} {epoch.strategy:12s} {epoch.precision:9s} {epoch.runs:5d} {epoch.seconds:12.4f} "
                f"{epoch.flops:8.1e} {epoch.floor_seconds / epoch.seconds:15.2f} {epoch.peak_gb:8.1f}",
                flush=True,
            )
        timings += result
        totals[key] = whole(config, result)
    print("\nthe whole: all runs and epochs, and the runs in double precision too")
    for key, total in totals.items():
        print(f"{key}: " + ", ".join(f"{what} {value:.3g}" for what, value in total.items()))
    minutes = sum(total["minutes"] for total in totals.values())
    print(f"in all {minutes:.1f} minutes, {AUTHORS_HOURS * 60 / minutes:.0f} times less than 75 hours")
    if asked.json:
        with open(asked.json, "w") as file:
            record = {
                "device": name,
                "products": [asdict(one) for one in products],
                "epochs": [asdict(one) for one in timings],
                "whole": totals,
            }
            json.dump(record, file, indent=1)


if __name__ == "__main__":
    main()
