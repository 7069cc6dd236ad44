"""What the three experiments of Fig. 1 share: runs from E under every strategy, in cells that resume.

Every run has its own seeds, so results do not depend on how runs are put together in cells. Runs of one cell
are trained side by side where they are small, one after the other where each fills the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from symscope.dynamics import TrainingProblem, equivariant_weights
from symscope.dynamics.layer_vectors import LayerWeights
from symscope.errors import InputError
from symscope.numerics import seeded
from symscope.runs import CellContext, CellResults
from symscope_papers.dynamics.strategies.config import DTYPES, THREE, Setting, Strategy, lower_precision
from symscope_papers.dynamics.strategies.paths import Path, gradient_flops, path, sampling_drift

START, ELEMENTS = 1, 2  # streams of a run's seed
Build = Callable[[Any, int, torch.dtype, str], TrainingProblem]
Scale = Callable[[LayerWeights], LayerWeights]


def strategy_cells(config: Setting) -> list[dict[str, Any]]:
    """Blocks of runs, then the runs that are trained in both precisions."""
    cells = [{"part": "paths", "first": first} for first in range(0, config.runs, config.block)]
    return cells + [{"part": "precision", "first": first} for first in range(config.check_runs)]


def strategy_rows(
    config: Setting,
    cell: Mapping[str, Any],
    context: CellContext,
    build: Build,
    strategies: Sequence[Strategy] = THREE,
    scale: Scale | None = None,
) -> CellResults:
    """One cell: paths of a block of runs, or one run in both precisions."""
    device, seed, first = context.device, context.run_seed, cell["first"]
    if cell["part"] == "precision":
        return {"precision": _precision_rows(config, build, strategies, first, seed, device, scale)}
    problem = build(config, seed, DTYPES[config.precision], device)
    block = list(range(first, min(first + config.block, config.runs)))
    rows: dict[str, list[dict[str, Any]]] = {"paths": [], "noise": [], "work": []}
    seconds = {strategy.name: 0.0 for strategy in strategies}
    samples = {strategy.name: 0 for strategy in strategies}
    for runs in [block] if config.together else [[run] for run in block]:
        start = starting_layers(problem, runs, seed, scale)
        noise = sampling_drift(problem, start, passes=config.passes, mixed=config.precision == "mixed")
        rows["noise"] += [{"run": run, "step": one} for run, one in zip(runs, noise.tolist(), strict=True)]
        for strategy in strategies:
            begin = _now(device)
            result = follow_paths(
                config, problem, start, strategy, runs, seed, config.epochs, config.precision
            )
            seconds[strategy.name] += _now(device) - begin
            samples[strategy.name] += result.samples
            rows["paths"] += path_rows(result, runs, strategy.name, acted_layers(problem))
    rows["work"] = _work_rows(problem, config.precision, seconds, samples, len(block))
    return rows


def starting_layers(
    problem: TrainingProblem, runs: Sequence[int], seed: int, scale: Scale | None = None
) -> LayerWeights:
    """A_0 of some runs, `[runs, ...]`: Gaussians projected on E, in the problem's dtype.

    Args:
        problem: Its network, dtype and device.
        runs: Numbers of the runs.
        seed: Seed that all runs' seeds are derived from.
        scale: What the authors' scripts make of standard Gaussians; by default nothing, as the text says.
    """
    each = [
        equivariant_weights(
            problem.network,
            seeded(seed, START, run),
            runs=(1,),
            dtype=problem.x.dtype,
            device=problem.x.device,
        )
        for run in runs
    ]
    layers = tuple(torch.cat(layer) for layer in zip(*each, strict=True))
    return layers if scale is None else scale(layers)


def follow_paths(
    config: Setting,
    problem: TrainingProblem,
    start: LayerWeights,
    strategy: Strategy,
    runs: Sequence[int],
    seed: int,
    epochs: int,
    precision: str,
) -> Path:
    """The path of some runs under a strategy; the same elements for the same run, whatever the precision."""
    return path(
        problem,
        start,
        strategy.kind,
        rate=config.rate,
        epochs=epochs,
        passes=config.passes,
        generators=[seeded(seed, ELEMENTS, run) for run in runs],
        weights=strategy.weights,
        mixed=precision == "mixed",
    )


def acted_layers(problem: TrainingProblem) -> list[int]:
    """The layers that the group acts on; the others, a head between invariant numbers, are all in E."""
    maps = problem.network.maps
    return [i for i, one in enumerate(maps) if one.dimension < one.source.dim * one.target.dim]


def path_rows(result: Path, runs: Sequence[int], strategy: str, acted: Sequence[int]) -> list[dict[str, Any]]:
    """`|A - A_0|` and `|A_{E_perp}|` of every run after every epoch.

    `published` is what the authors' scripts plot as `|A_{E_perp}|`: they add squares of squared norms of
    layers, `sqrt(sum_i |A_{i, E_perp}|^4)`, which is of the size of the square of the norm; and
    `published_travelled` what they plot as `|A - A_0|`, without the layers the group does not act on.
    """
    travelled, drift = result.travelled.norm(dim=1), result.drift.norm(dim=1)
    published = result.drift.square().norm(dim=1)
    without_head = result.travelled[:, list(acted)].norm(dim=1)
    risk = torch.cat([result.risk, torch.full_like(result.risk[:1], torch.nan)])
    return [
        {
            "run": run,
            "strategy": strategy,
            "epoch": t,
            "travelled": float(travelled[t, k]),
            "drift": float(drift[t, k]),
            "published": float(published[t, k]),
            "published_travelled": float(without_head[t, k]),
            "risk": float(risk[t, k]),
        }
        for k, run in enumerate(runs)
        for t in range(len(travelled))
    ]


def mini_batches(x: Tensor, y: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Samples in mini-batches `[batches, size, d]`; what does not fill one is left out.

    >>> [part.shape[0] for part in mini_batches(torch.ones(7, 2), torch.ones(7, 1), 3)]
    [2, 2]
    """
    batches = len(x) // size
    if batches < 1:
        raise InputError(f"batch: expected at most {len(x)} samples, as many as there are, got {size}")
    return (
        x[: batches * size].unflatten(0, (batches, size)),
        y[: batches * size].unflatten(0, (batches, size)),
    )


def _precision_rows(
    config: Setting,
    build: Build,
    strategies: Sequence[Strategy],
    run: int,
    seed: int,
    device: str,
    scale: Scale | None,
) -> list[dict[str, Any]]:
    """One run in the lower precision and in double, from the same layers, with the same elements."""
    lower = lower_precision(config)
    single = build(config, seed, DTYPES[lower], device)
    start = starting_layers(single, [run], seed, scale)
    double = TrainingProblem(single.network, single.loss, single.x.double(), single.y.double())
    result: dict[str, list[Path]] = {}
    for name, problem in ((lower, single), ("double", double)):
        layers = tuple(layer.to(problem.x.dtype) for layer in start)
        result[name] = [
            follow_paths(config, problem, layers, strategy, [run], seed, config.check_epochs, name)
            for strategy in strategies
        ]
    return [
        {"run": run, "strategy": strategy.name, "epoch": t}
        | {
            f"{what}_{name}": float(getattr(result[name][at], what)[t].norm())
            for what in ("travelled", "drift")
            for name in result
        }
        for at, strategy in enumerate(strategies)
        for t in range(1, config.check_epochs + 1)
    ]


def _work_rows(
    problem: TrainingProblem,
    precision: str,
    seconds: Mapping[str, float],
    samples: Mapping[str, int],
    runs: int,
) -> list[dict[str, Any]]:
    """Operations, time, and the least time at the rate this machine reaches in one large product."""
    ways = product_ways(precision, problem.x.device)
    on_halves = problem.x.is_cuda and any(ways.values())
    rate = product_rate(problem.x.device, torch.float16 if on_halves else problem.x.dtype)
    rows = []
    for name, spent in seconds.items():
        flops = gradient_flops(problem, samples[name], **ways)
        rows.append(
            {
                "strategy": name,
                "runs": runs,
                "flops": flops,
                "seconds": spent,
                "floor_seconds": flops / rate,
                "share_of_floor": flops / rate / spent,
                "flops_per_second": rate,
                **ways,
            }
        )
    return rows


def product_ways(precision: str, device: torch.device) -> dict[str, bool]:
    """How products are computed in a precision, as `gradient_flops` takes it."""
    return {"halved": precision == "single" and device.type == "cuda", "mixed": precision == "mixed"}


def product_rate(device: torch.device, dtype: torch.dtype, size: int | None = None) -> float:
    """Operations per second of one large square matrix product, the best of three.

    Of random numbers: a GPU multiplies ones faster, as fewer bits change.
    """
    side = size or (8192 if device.type == "cuda" else 768)
    a = torch.randn(side, side, dtype=torch.float32, generator=torch.Generator().manual_seed(0))
    a = a.to(device, dtype)
    times = []
    for _ in range(4):
        begin = _now(device.type)
        a @ a
        times.append(_now(device.type) - begin)
    return 2.0 * side**3 / min(times[1:])


def _now(device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()
