"""The table of ratios, and RESULTS.md around it."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from benchmarks.floors import Rates, floor_seconds
from benchmarks.measure import Comparison

FILE = Path(__file__).parent / "RESULTS.md"
ELSEWHERE = """## Measured elsewhere

- [RESULTS-gpu.md](RESULTS-gpu.md): the same kernels on one GPU.
- [RESULTS-spectral.md](RESULTS-spectral.md): the exact group form, from 64,000 points on two cores to 3.84 million on a GPU.
- [RESULTS-linear.md](RESULTS-linear.md): second moments and closed-form regression.
- [RESULTS-dynamics.md](RESULTS-dynamics.md): equivariant, augmented and nominal training at paper size.
- [RESULTS-training.md](RESULTS-training.md): the networks of Fig. 1 trained at paper size on one GPU.
- [RESULTS-finite.md](RESULTS-finite.md): kernels of finite networks.
"""  # noqa: E501


@dataclass(frozen=True)
class Run:
    """Everything one run measured."""

    command: str
    cores: int
    repeats: int
    quick: bool
    versions: dict[str, str]
    rates: dict[str, Rates]
    comparisons: Sequence[Comparison]
    imports: dict[str, float]
    single: dict[str, dict[str, float]]
    load: float


def table(run: Run) -> str:
    """One row per case and dtype: medians, ratio and bar, memory of both, floor, difference."""
    head = (
        "| case | dtype | ours | peer (setting) | ratio | bar | memory ours / peer | above start ours / peer "
        "| floor, reached | largest difference |"
    )
    lines = [head, "|" + " --- |" * 10]
    for one in run.comparisons:
        itemsize = 8 if one.dtype == "float64" else 4
        floor = floor_seconds(one.case, itemsize, run.rates[one.dtype])
        peer = one.peer
        cells = [
            one.case.title,
            one.dtype,
            _seconds(one.ours.median),
            "-" if peer is None else f"{_seconds(peer.median)} ({peer.setting})",
            "-" if one.ratio is None else f"**{one.ratio:.2f}**",
            _bar(one, run.quick),
            f"{one.ours.peak / 2**20:.0f} / {peer.peak / 2**20:.0f} MiB = {one.ours.peak / peer.peak:.2f}"
            if peer
            else f"{one.ours.peak / 2**20:.0f} MiB",
            f"{one.ours.working / 2**20:.0f} / {peer.working / 2**20:.0f} MiB"
            if peer
            else f"{one.ours.working / 2**20:.0f} MiB",
            f"{_seconds(floor)}, {100 * floor / one.ours.median:.0f} %",
            "-" if one.difference is None else f"{one.difference:.1e}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _bar(one: Comparison, quick: bool) -> str:
    if one.dtype != "float64" or one.ratio is None:
        return "-"
    if quick:
        return f">= {one.case.bar:g} (not judged: quick)"
    return f">= {one.case.bar:g}: {'met' if one.ratio >= one.case.bar else 'MISSED'}"


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.3g} ms"


def document(run: Run) -> str:
    """RESULTS.md: the table, how it was measured, and what else was."""
    rates = "; ".join(
        f"{dtype} {rate.operations / 1e9:.0f} Gflop/s in products, {rate.bytes / 1e9:.1f} GB/s in copies"
        for dtype, rate in run.rates.items()
    )
    added = run.imports["symscope"] + run.imports["symscope.kernels"]
    spread = "\n".join(
        f"| {one.case.title} | {one.dtype} | {_range(one.ours.seconds)}, first {_seconds(one.ours.first)} | "
        + (f"{_range(one.peer.seconds)}, first {_seconds(one.peer.first)}" if one.peer else "-")
        + f" | {', '.join(f'{batch}: {_seconds(t)}' for batch, t in one.scouted.items()) or '-'} |"
        for one in run.comparisons
    )
    single = "\n".join(
        f"| {title} | {sides.get('ours', float('nan')):.1e} | {sides.get('peer', float('nan')):.1e} |"
        for title, sides in run.single.items()
        if sides
    )
    return f"""# Kernels side by side

Written by `{run.command}` on {date.today().isoformat()}. Do not edit: run it again.
{"**A quick run: it shows that everything works, not how fast.**" if run.quick else ""}
Machine: {_machine()}, {run.cores} cores used by each side in turn. Versions: {
        ", ".join(f"{name} {version}" for name, version in run.versions.items())
    }.
Machine rates, measured in this run: {rates}. Load before the run: {run.load:.1f}{
        " (busy: the times are noise)" if run.load > 0.5 else ""
    }.

NTK Gram of images against themselves, both sides in processes of their own, same inputs, alternating, medians
of {run.repeats} runs after a first one that compiles. The peer runs at the fastest of its settings (compiled;
with and without `nt.batch`). Ratio: peer / ours. Memory: peak resident size of the process, and what of it
came after start-up and loading the inputs. Floor: the longer of counted operations and bytes at these rates
(`floors.py`). Difference: largest relative difference between the two results off the diagonal.

{table(run)}

## Spread of the runs, first run with compilation, and the peer's settings

| case | dtype | ours, least to most | peer, least to most | peer by batch size (0: none) |
| --- | --- | --- | --- | --- |
{spread}

## Single precision: largest relative error off the diagonal against the same side's float64

| case | ours | peer |
| --- | --- | --- |
{single}

## Import

`import torch` {_seconds(run.imports["torch"])}; `import symscope` and `symscope.kernels` after it add {
        _seconds(added)
    } ({100 * added / run.imports["torch"]:.0f} %).

{ELSEWHERE}"""


def _range(seconds: Sequence[float]) -> str:
    return f"{_seconds(min(seconds))} to {_seconds(max(seconds))}"


def _machine() -> str:
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line
        ]
        model = names[0] if names else model
    return f"{model}, {platform.system()} {platform.release()}, Python {platform.python_version()}"
