"""How many samples each part of an audit takes, from the time of a forward pass."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import final

from symscope.auditing._layers import leaves
from symscope.auditing._subject import Subject

MOST_SAMPLES = 1000  # for the error itself
MOST_ELEMENTS = 24  # elements of a group; larger groups are thinned out
TRIED, FRESH, LAYERS, LOCAL = 128, 96, 16, 32  # samples of the grid, fresh networks, layers, derivatives
SEEDS = 3  # fresh networks
CONTROL = 3  # elements of fresh networks and layers
LEAST = 8  # samples of any part
TIMED = 3  # forward passes, of which the fastest counts


@final
@dataclass(frozen=True)
class AuditPlan:
    """Numbers of samples, by part, and the time they are expected to take.

    Attributes:
        table: Samples of the error itself.
        grid: Samples of round trips and smoothed samples.
        fresh: Samples of fresh networks.
        layers: Samples of layers.
        local: Samples of the derivative.
        seconds: Expected time on this machine.
        notes: What was made smaller, in sentences.
    """

    table: int
    grid: int
    fresh: int
    layers: int
    local: int
    seconds: float | int
    notes: tuple[str, ...]


def measured_elements(subject: Subject) -> tuple[int, ...]:
    """Elements other than the identity, evenly thinned out in large groups."""
    others = subject.others
    return others[:: -(-len(others) // MOST_ELEMENTS)]


def audit_plan(
    subject: Subject, elements: tuple[int, ...], exact: tuple[int, ...], seconds: float | int
) -> AuditPlan:
    """Samples for each part, so that the forward passes take about as long as they may.

    Args:
        subject: Network and data.
        elements: Elements whose error is measured.
        exact: Those that act exactly.
        seconds: Time for forward passes.
    """
    count = len(subject.data)
    each = pass_time(subject)
    rough = len(elements) - len([g for g in elements if g in exact])
    calls = min(40, len(leaves(subject.module)))
    full = {
        # the error itself, and then the consequences
        "table": (min(count, MOST_SAMPLES), 2 * len(elements) + 2),
        "grid": (min(count, TRIED), (rough + len(elements) + 2) if rough else 0),
        "fresh": (min(count, FRESH), SEEDS * (CONTROL + 1)),
        "layers": (min(count, LAYERS), 2 * CONTROL * (calls + 2)),
        "local": (min(count, LOCAL), 3),
    }
    cost = each * sum(samples * passes for samples, passes in full.values())
    factor = min(1.0, seconds / cost) if cost > 0 else 1.0
    sizes = {name: max(min(samples, LEAST), int(samples * factor)) for name, (samples, _) in full.items()}
    notes = []
    if sizes["table"] < count:
        notes.append(f"The error is measured on {sizes['table']} of {count} samples.")
    if factor < 1:
        notes.append(
            f"A forward pass takes {1000 * each:.2g} ms a sample: fewer samples are used, so that all "
            f"passes take about {seconds:.0f} s."
        )
    total = each * sum(sizes[name] * passes for name, (_, passes) in full.items())
    return AuditPlan(**sizes, seconds=total, notes=tuple(notes))


def pass_time(subject: Subject) -> float:
    """Seconds of a forward pass for one sample, in a batch: the fastest of a few, after a first one."""
    x = subject.data.x[:LEAST]
    subject.outputs(x)  # its outputs come to the CPU, so that nothing is left running on a GPU
    times = []
    for _ in range(TIMED):
        start = time.perf_counter()
        subject.outputs(x)
        times.append(time.perf_counter() - start)
    return min(times) / len(x)
