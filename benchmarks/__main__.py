"""`python -m benchmarks`: measure, print the table, and with --write keep it in RESULTS.md."""

from __future__ import annotations

import argparse
import os
import sys

import numpy as np
import torch

from benchmarks.cases import CASES, quick
from benchmarks.floors import machine_rates
from benchmarks.imports import import_seconds
from benchmarks.measure import Comparison, Options, compare, off_diagonal
from benchmarks.peer.environment import peer_python
from benchmarks.protocol import Side
from benchmarks.results import FILE, Run, document


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does everything work")
    parser.add_argument("--write", action="store_true", help=f"write {FILE.name}")
    parser.add_argument(
        "--case", action="append", choices=[case.key for case in CASES], help="only these cases"
    )
    parser.add_argument("--dtype", action="append", choices=["float64", "float32"], help="only these dtypes")
    parser.add_argument("--repeats", type=int, default=7, help="timed runs of each side (7)")
    parser.add_argument("--cores", type=int, default=2, help="cores for each side (2)")
    parser.add_argument("--no-peer", action="store_true", help="our side alone")
    return parser.parse_args()


def main() -> None:
    """Run everything asked for."""
    asked = options()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: asked.cores])
    torch.set_num_threads(asked.cores)
    cases = [case for case in CASES if asked.case is None or case.key in asked.case]
    cases = [quick(case) for case in cases] if asked.quick else cases
    dtypes = asked.dtype or ["float64", "float32"]
    how = Options(2 if asked.quick else asked.repeats, asked.cores, not asked.no_peer)
    load = os.getloadavg()[0]
    if load > 0.5:
        print(
            f"the machine is busy (load {load:.1f}): times below are noise; wait and run again",
            file=sys.stderr,
        )
    versions = _versions(how)
    rates = {dtype: machine_rates(getattr(torch, dtype)) for dtype in dtypes}
    results: dict[tuple[str, str, str], np.ndarray] = {}
    comparisons: list[Comparison] = []
    for case in cases:
        for dtype in dtypes:
            print(f"{case.title}, {dtype} ...", file=sys.stderr, flush=True)
            comparisons.append(compare(case, dtype, how, results))
    single = {
        case.title: {
            side: off_diagonal(results[case.key, "float32", side], results[case.key, "float64", side])
            for side in ("ours", "peer")
            if (case.key, "float32", side) in results and (case.key, "float64", side) in results
        }
        for case in cases
    }
    command = "python -m benchmarks " + " ".join(sys.argv[1:])
    imports = import_seconds(1 if asked.quick else 5)
    run = Run(
        command.strip(),
        asked.cores,
        how.repeats,
        asked.quick,
        versions,
        rates,
        comparisons,
        imports,
        single,
        load,
    )
    text = document(run)
    print(text)
    if asked.write:
        FILE.write_text(text)


def _versions(how: Options) -> dict[str, str]:
    with Side(sys.executable, "benchmarks.ours", how.cores) as side:
        versions = side.ask("versions")
    if how.peer:
        with Side(peer_python(), "benchmarks.peer.server", how.cores) as side:
            versions |= side.ask("versions")
    return versions


if __name__ == "__main__":
    main()
