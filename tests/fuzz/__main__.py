"""`python -m tests.fuzz`: run inputs, print counts and every distinct fault; status 1 if there is one."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import torch

from tests.fuzz import examples, stock
from tests.fuzz.driver import AREAS, BYTES, SECONDS, Fault, Tally, fuzz
from tests.fuzz.outcome import Kind

shown: list[Fault] = []


def options() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=sys.modules["tests.fuzz"].__doc__
    )
    parser.add_argument("--minutes", type=float, help="stop after this time (60 unless --inputs is given)")
    parser.add_argument("--inputs", type=int, help="inputs of each area; without end by default")
    parser.add_argument("--areas", default=",".join(AREAS), help="which, with commas")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--replay", metavar="AREA:SEED", help="one input again")
    return parser.parse_args()


def main() -> int:
    """Run, print, and say whether there was a fault."""
    asked = options()
    torch.set_num_threads(1)
    seconds = None if asked.minutes is None else 60 * asked.minutes
    if asked.replay:
        area, _, seed = asked.replay.partition(":")
        seeds = {area: [int(seed)]}
    else:
        seeds = {
            area: itertools.islice(itertools.count(asked.first), asked.inputs)
            for area in asked.areas.split(",")
        }
        if asked.inputs is None and seconds is None:
            seconds = 3600.0
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="symscope-fuzz-") as folder:
        shelf = Path(folder) / "stock"
        shelf.mkdir()
        stock.make(shelf)
        examples.modules()
        if {"objects", "methods"} & set(seeds):
            examples.reached_calls()
        if "api" in seeds and asked.inputs is None and not asked.replay:
            for name in examples.with_example():
                examples.own_call(name)
        tally = fuzz(seeds, shelf, seconds=seconds, cores=asked.cores, on_result=progress)
    print(file=sys.stderr)
    show(tally, time.monotonic() - began)
    if asked.replay:
        for fault in tally.faults.values():
            print(fault.outcome.detail)
    return 1 if tally.faults else 0


def progress(tally: Tally) -> None:
    """One line that is written over again; a fault is shown when it is first met, whatever ends the run."""
    while len(shown) < len(tally.faults):
        fault = list(tally.faults.values())[len(shown)]
        shown.append(fault)
        where = f"--replay {fault.area}:{fault.seed}"
        print(f"{fault.outcome.kind}: {fault.outcome.place}; {where}", file=sys.stderr, flush=True)
    inputs = sum(sum(counts.values()) for counts in tally.counts.values())
    if sys.stderr.isatty() or inputs % 500 == 0:
        end = "\r" if sys.stderr.isatty() else "\n"
        print(f"{inputs} inputs, {len(tally.faults)} distinct faults", end=end, file=sys.stderr, flush=True)


def show(tally: Tally, seconds: float) -> None:
    """Counts by area, then every distinct fault with the command that shows it."""
    print(f"{'area':10}{'inputs':>9}" + "".join(f"{kind:>14}" for kind in Kind))
    for area, counts in [*tally.counts.items(), ("all", sum(tally.counts.values(), start=Counter()))]:
        print(f"{area:10}{sum(counts.values()):>9}" + "".join(f"{counts[kind]:>14}" for kind in Kind))
    print(f"{seconds:.0f} s; limits of one input: {SECONDS} s, {BYTES / 2**30:g} GiB")
    for fault in sorted(tally.faults.values(), key=lambda one: (one.outcome.kind, one.outcome.place)):
        print(f"\n{fault.outcome.kind}, {fault.count}x: {fault.outcome.place}")
        print(f"  {fault.words[:300]!r}")
        lines = fault.outcome.detail.strip().splitlines()
        print(f"  {lines[-1][:300] if lines else ''}")
        print(f"  python -m tests.fuzz --replay {fault.area}:{fault.seed}")


if __name__ == "__main__":
    sys.exit(main())
