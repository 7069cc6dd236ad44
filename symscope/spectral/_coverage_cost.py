"""What kernel regression on a coverage costs, and which way is cheapest, before anything is spent."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError, TooLargeError
from symscope.groups import FiniteGroup
from symscope.numerics import byte_text
from symscope.spectral._kernel_entries import entries
from symscope.spectral._missing_sets import MissingSet
from symscope.spectral._orbit_passes import TILE_SHARE, irrep_batches, orbits_per_panel, set_bytes
from symscope.spectral.irrep_blocks import frequencies
from symscope.spectral.panels import flop_counts, panel_bytes, workspace_bytes

METHODS = ("orbits", "dense", "features")
ENTRY_OPERATIONS = 2000  # beside the inner product: what a nonlinearity takes for one entry, about
MEASURABLE, LONG_ENOUGH = 0.01, 0.15  # seconds: a rate that no longer grows is known; one is never refined
PRODUCT_SIDE = 768  # rows of the product that is timed
SMALLEST_SQUARE, LARGEST_SQUARE = 32, 4096  # points of a square whose entries are timed
EFFICIENCY = 0.6  # of a large product's rate, that a factorisation reaches


@final
@dataclass(frozen=True)
class CoverageCost:
    """What `coverage_regression` takes.

    Attributes:
        methods: "orbits", "dense" or "features" for each coverage.
        entries: Kernel entries to compute.
        operations: Floating-point operations besides.
        bytes: Working memory, beyond points and results.
        seconds: Duration by rates measured on this machine; NaN where they were not measured.
    """

    methods: tuple[str, ...]
    entries: float
    operations: float
    bytes: int
    seconds: float = math.nan


@final
@dataclass(frozen=True)
class CoverageSize:
    """How large a problem is.

    Attributes:
        samples: Number m of training samples.
        group: The group.
        representatives: Elements over which a projected entry is the mean.
        point_numbers: Numbers of one point.
        seen: Different points that were seen, for each coverage.
        missing: Missing points of each coverage; None where there are none.
        outputs: Numbers of one label.
        new_samples: Number of new samples.
        linear: Whether points are features and the kernel is their inner product.
        itemsize: Bytes of a number of the projected kernel.
    """

    samples: int
    group: FiniteGroup
    representatives: int
    point_numbers: int
    seen: tuple[int, ...]
    missing: tuple[MissingSet | None, ...]
    outputs: int
    new_samples: int
    linear: bool
    itemsize: int

    @property
    def new_points(self) -> int:
        """Number of points of new samples."""
        return self.new_samples * self.group.order

    @property
    def points(self) -> int:
        """Number of points of training samples."""
        return self.samples * self.group.order


def cheapest(size: CoverageSize, budget: int, method: str = "auto") -> CoverageCost:
    """The cheapest way that fits a budget, by the number of operations.

    Args:
        size: How large the problem is.
        budget: Bytes that may be used.
        method: One of `METHODS` to insist, "auto" otherwise.

    Raises:
        InputError: Another method.
        TooLargeError: None that fits; it says how much the smallest takes.
    """
    if method not in ("auto", *METHODS) or (method == "features" and not size.linear):
        allowed = ["auto", *(METHODS if size.linear else METHODS[:2])]
        raise InputError(f"method: expected one of {', '.join(allowed)}, got {method!r}")
    # where fewer points were seen than are missing, the plain way costs less and takes the kernel as it is
    each = ["dense" if seen <= (size.points - seen) else "orbits" for seen in size.seen]
    # features are those of finite networks, far from invariant: they are not projected without need
    ways = [["features"] * len(each) if size.linear else each, ["dense"] * len(each)]
    if method != "auto":
        ways = [[method] * len(each)]
    plans = [_cost(size, way, budget) for way in ways]
    fitting = [plan for plan in plans if plan.bytes <= budget]
    if not fitting and method == "auto":
        plans.append(_cost(size, ["orbits"] * len(each), budget))
        fitting = [plan for plan in plans if plan.bytes <= budget]
    if not fitting:
        least = min(plans, key=lambda plan: plan.bytes)
        raise TooLargeError(
            f"memory: regression on {size.points} points of {size.samples} samples takes "
            f"{byte_text(least.bytes)} at least ({least.methods[0]}), more than the {byte_text(budget)} "
            "allowed; allow more, or take fewer samples"
        )
    entry = 2 * size.point_numbers + (0 if size.linear else ENTRY_OPERATIONS)
    return min(fitting, key=lambda plan: plan.entries * entry + plan.operations)


def _cost(size: CoverageSize, methods: Sequence[str], budget: int) -> CoverageCost:
    parts = []
    for way in set(methods):
        chosen = [k for k, one in enumerate(methods) if one == way]
        parts.append({"orbits": _orbits, "dense": _dense, "features": _features}[way](size, chosen, budget))
    counted, operations = (sum(part[k] for part in parts) for k in (0, 1))
    return CoverageCost(tuple(methods), counted, operations, int(max(part[2] for part in parts)))


def _orbits(size: CoverageSize, chosen: Sequence[int], budget: int) -> tuple[float, float, float]:
    """Kernel entries, operations and bytes of the way through the group."""
    m, group, r = size.samples, size.group, size.representatives
    sets = [one for one in (size.missing[k] for k in chosen) if one is not None]
    needed = frequencies(group) if sets else frequencies(group)[:1]
    columns = size.outputs * len(chosen)
    values = 8 * 6 * (size.points + size.new_points) * columns
    held = set_bytes(m, group, sets) + values
    panels, largest, operations = 0.0, 0.0, 0.0
    for one in needed:
        rows, wide = m * one.dim, orbits_per_panel(m, None) * one.dim
        own = panel_bytes(rows, wide, complex=not one.is_real, itemsize=size.itemsize)
        panels, largest = panels + own, max(largest, own)
        workspace = workspace_bytes(rows, wide, itemsize=size.itemsize)
        held = max(held, set_bytes(m, group, sets) + values + workspace)
        counts = flop_counts(rows, [len(s.owners) * one.dim for s in sets], complex=not one.is_real)
        products = (2 * rows + size.new_samples * one.dim) * rows * one.dim * columns
        operations += sum(counts.values()) + products * (2 if one.is_real else 8)
    operations += sum(len(one.samples) ** 3 / 3 for one in sets)
    operations += 2 * group.order**2 * m * (m / 2 + size.new_samples)  # transforms
    try:
        passes = len(irrep_batches(m, group, None, budget - set_bytes(m, group, sets), needed, size.itemsize))
    except InputError:
        passes = len(needed)
    if passes > 1 and (size.new_samples or not sets):
        passes *= 2  # factors are made again where they could not be kept
    kept = panels if passes == 1 else largest
    entries_needed = r * group.order * m * (passes * m / 2 + size.new_samples)
    return entries_needed, operations * (2 if passes > 1 else 1), (held + kept) / (1 - TILE_SHARE)


def _dense(size: CoverageSize, chosen: Sequence[int], budget: int) -> tuple[float, float, float]:
    """Kernel entries, operations and bytes of a factorisation over the seen points of each coverage."""
    counted = operations = 0.0
    for k in chosen:
        seen, others = size.seen[k], size.points - size.seen[k] + size.new_points
        counted += seen * (seen / 2 + others)
        operations += seen**3 / 3 + 2 * seen * (seen + others) * size.outputs
    return counted, operations, 2 * 8 * max(size.seen[k] for k in chosen) ** 2 / (1 - TILE_SHARE)


def _features(size: CoverageSize, chosen: Sequence[int], budget: int) -> tuple[float, float, float]:
    """The same in feature space: no kernel entries at all."""
    f = size.point_numbers
    rows = sum(min(size.seen[k], size.points - size.seen[k]) for k in chosen)
    whole = size.points if any(size.seen[k] * 2 > size.points for k in chosen) else 0
    products = 2.0 * (size.points + size.new_points) * f * size.outputs
    operations = 2.0 * f * f * (whole + rows) + len(chosen) * (f**3 / 3 + products)
    return 0.0, operations, 5 * 8 * f * f / (1 - TILE_SHARE)


def with_seconds(
    cost: CoverageCost, kernel: Callable[[Tensor, Tensor], Tensor], points: Float[Tensor, "p *sample"]
) -> CoverageCost:
    """The cost with a duration, by two rates measured in less than half a second each.

    Args:
        cost: What was counted.
        kernel: The kernel.
        points: Some points, on the device that is to compute.
    """
    seconds = cost.operations / (EFFICIENCY * _product_rate(cost.operations, points.device))
    if cost.entries:
        seconds += cost.entries / _entry_rate(kernel, points, cost.entries)
    return replace(cost, seconds=seconds)


def _product_rate(operations: float, device: torch.device) -> float:
    """Operations per second of a large product in double precision, no larger than what is to be computed."""
    side = max(SMALLEST_SQUARE, min(PRODUCT_SIDE, int((operations / 2) ** (1 / 3))))
    a = torch.ones(side, side, dtype=torch.float64, device=device)
    return 2 * side**3 / min(_elapsed(lambda: a @ a, device) for _ in range(3))


def _entry_rate(
    kernel: Callable[[Tensor, Tensor], Tensor], points: Float[Tensor, "p *sample"], needed: float
) -> float:
    """Kernel entries per second, on squares that grow until one takes long, or has as many as are needed."""
    side, before = SMALLEST_SQUARE, 0.0
    while True:
        repeats = [-(-side // len(points)), *[1] * (points.ndim - 1)]
        rows = points.repeat(repeats)[:side]
        work = partial(entries, kernel, rows, rows.clone())
        duration = min(_elapsed(work, points.device) for _ in range(2))
        rate = side * side / duration
        steady = duration > MEASURABLE and rate < 1.5 * before
        if steady or duration > LONG_ENOUGH or side >= LARGEST_SQUARE or side * side >= needed:
            return rate
        side, before = 2 * side, rate


def _elapsed(work: Callable[[], Tensor], device: torch.device) -> float:
    started = time.perf_counter()
    float(work()[0, 0])  # waits for a GPU to finish
    return max(time.perf_counter() - started, 1e-9)
