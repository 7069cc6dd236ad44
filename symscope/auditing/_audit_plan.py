"""How many samples, elements and layers each part of an audit takes, from the times of passes and moves."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from symscope.auditing._action_faults import TRIAL_ELEMENTS, TRIAL_SAMPLES
from symscope.auditing._data_symmetry import MOST_DRAWN
from symscope.auditing._layer_shares import MOST_CALLS
from symscope.auditing._layers import leaves
from symscope.auditing._subject import Subject

MOST_SAMPLES = 1000  # for the error itself
MOST_ELEMENTS = 24  # elements of a group; larger groups are thinned out
TRIED, FRESH, LAYERS, LOCAL = 128, 96, 16, 32  # samples of the grid, fresh networks, layers, derivatives
TRIALS = 6  # corrected actions that are tried, about
SEEDS = 3  # fresh networks
CONTROL = 3  # elements of fresh networks and layers
LEAST = 8  # samples of any part
LEAN_SAMPLES, LEAN_ELEMENTS, LEAN_CALLS = 4, 4, 6  # for networks and actions that are too slow for that
LEAST_COMPARED = 64  # samples that tell anything about the data
TIMED, LONG = 3, 0.2  # calls of which the fastest counts; seconds of one after which there is no other


@final
@dataclass(frozen=True)
class AuditPlan:
    """Numbers of samples, by part, and the time they are expected to take.

    Attributes:
        elements: Elements whose error is measured.
        table: Samples of the error itself.
        grid: Samples of round trips and smoothed samples.
        fresh: Samples of fresh networks.
        layers: Samples of layers.
        local: Samples of the derivative.
        trial: Samples with which corrected actions are tried.
        compared: Samples that tell whether the data has the symmetry.
        seeds: Fresh networks.
        calls: Layers that are put right one by one, at most.
        seconds: Expected time on this machine.
        notes: What was made smaller, in sentences.
    """

    elements: tuple[int, ...]
    table: int
    grid: int
    fresh: int
    layers: int
    local: int
    trial: int
    compared: int
    seeds: int
    calls: int
    seconds: float | int
    notes: tuple[str, ...]


def measured_elements(subject: Subject) -> tuple[int, ...]:
    """Elements other than the identity, evenly thinned out in large groups."""
    others = subject.others
    return others[:: -(-len(others) // MOST_ELEMENTS)]


def audit_plan(
    subject: Subject, elements: tuple[int, ...], exact: tuple[int, ...], seconds: float | int
) -> AuditPlan:
    """Samples for each part, so that forward passes and moves take about as long as they may.

    Args:
        subject: Network and data.
        elements: Elements whose error is measured.
        exact: Those that act exactly.
        seconds: Time for forward passes and for moving samples.
    """
    count, calls = len(subject.data), min(MOST_CALLS, len(leaves(subject.module)))
    each, move = pass_time(subject), move_time(subject)
    full = _sizes(count, 1.0, LEAST)
    costs = _costs(elements, exact, SEEDS, calls, each, move)
    cost = _total(full, costs)
    factor = min(1.0, seconds / cost) if cost > 0 else 1.0
    sizes, seeds = _sizes(count, factor, LEAST), SEEDS
    if _total(sizes, costs) > seconds:  # what few samples need is too much: as little as says anything
        seeds, calls = 1, min(calls, LEAN_CALLS)
        elements = elements[:: -(-len(elements) // LEAN_ELEMENTS)]
        costs = _costs(elements, exact, seeds, calls, each, move)
        sizes = _sizes(count, min(1.0, seconds / _total(full, costs)), LEAN_SAMPLES)
    total = _total(sizes, costs)
    notes = []
    if sizes["table"] < count:
        notes.append(f"The error is measured on {sizes['table']} of {count} samples.")
    if factor < 1:
        notes.append(
            f"A forward pass takes {1000 * each:.2g} ms a sample and moving it {1000 * move:.2g} ms: fewer "
            f"samples are used, so that the error and its causes take about {total:.3g} s."
        )
    return AuditPlan(elements, **sizes, seeds=seeds, calls=calls, seconds=total, notes=tuple(notes))


def _sizes(count: int, factor: float, least: int) -> dict[str, int]:
    """Samples of each part, made smaller by a factor, but for the least."""
    most = {
        "table": MOST_SAMPLES,
        "grid": TRIED,
        "fresh": FRESH,
        "layers": LAYERS,
        "local": LOCAL,
        "trial": TRIAL_SAMPLES,
    }
    sizes = {name: min(count, max(least, int(min(count, top) * factor))) for name, top in most.items()}
    sizes["compared"] = min(count, max(LEAST_COMPARED, int(min(count, MOST_DRAWN) * factor)))
    return sizes


def _costs(
    elements: tuple[int, ...], exact: tuple[int, ...], seeds: int, calls: int, each: float, move: float
) -> dict[str, float]:
    """Seconds that one sample of each part takes; consequences take the outputs that the error has."""
    rough = len([g for g in elements if g not in exact])
    both, control = each + move, min(CONTROL, len(elements))
    return {
        "table": len(elements) * both + each,
        "grid": rough * (both + move) + len(elements) * both + 2 * each if rough else 0.0,
        "fresh": seeds * (control * both + each),
        "layers": 2 * control * (calls * each + 2 * both),
        "local": 3 * each,
        "trial": TRIALS * min(TRIAL_ELEMENTS, len(elements)) * both,
        "compared": (len(elements) / 2 + 4 * (rough > 0)) * move,
    }


def _total(sizes: dict[str, int], costs: dict[str, float]) -> float:
    return sum(size * costs[name] for name, size in sizes.items())


def pass_time(subject: Subject) -> float:
    """Seconds of a forward pass for one sample, in a batch where it is not long."""
    return _each(subject, subject.outputs)  # outputs come to the CPU: nothing is left running on a GPU


def move_time(subject: Subject) -> float:
    """Seconds of moving one sample."""
    g = subject.others[0]
    return _each(subject, lambda x: subject.moved(g, x))


def _each(subject: Subject, call: Callable[..., object]) -> float:
    """Seconds of a call for one sample: the fastest of a few for several, after a first one."""

    def timed(count: int) -> float:
        x = subject.data.x[:count]
        start = time.perf_counter()
        call(x)
        return (time.perf_counter() - start) / len(x)

    first = timed(1)
    return first if first > LONG else min(timed(LEAST) for _ in range(TIMED))
