"""`python -m tests.torture`: play episodes, print counts and every fault; status 1 if there is one."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

from tests.torture.episode import KINDS, Episode, Tally, can_mount, reference_run


def main() -> int:
    """Play until enough kills or minutes, print, and say whether there was a fault."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.torture", description=sys.modules["tests.torture"].__doc__
    )
    parser.add_argument("--kills", type=int, default=1000, help="how many at least (1000)")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after this time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first episode")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="episodes at once")
    parser.add_argument("--kind", choices=sorted(set(KINDS)), help="episodes of this kind only")
    asked = parser.parse_args()
    total, began = Tally(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="symscope-torture-") as folder:
        reference, seconds = reference_run(Path(folder))
        kinds = {asked.kind or kind for kind in KINDS} - (set() if can_mount() else {"full"})
        numbers = (one for one in itertools.count(asked.first) if KINDS[one % len(KINDS)] in kinds)
        with ThreadPoolExecutor(asked.jobs) as pool:
            playing = set()
            while True:
                enough = total.counts["kills"] >= asked.kills or time.monotonic() - began > 60 * asked.minutes
                while not enough and len(playing) < asked.jobs:
                    number = next(numbers)
                    place = Path(folder, f"episode-{number}")
                    episode = Episode(number, asked.seed, place, reference, seconds)
                    playing.add(pool.submit(episode.play))
                if not playing:
                    break
                finished, playing = wait(playing, return_when=FIRST_COMPLETED)
                for future in finished:
                    tally = future.result()
                    total.counts.update(tally.counts)
                    total.faults += tally.faults
                print(
                    f"{total.counts['kills']} kills, {len(total.faults)} faults", file=sys.stderr, flush=True
                )
    print(f"{time.monotonic() - began:.0f} s, seed {asked.seed}; an untouched run takes {seconds:.1f} s")
    for name, count in sorted(total.counts.items()):
        print(f"{count:7}  {name}")
    print("\n".join(total.faults) or "no faults: no finished cell lost, tables equal, nothing left over")
    return 1 if total.faults else 0


if __name__ == "__main__":
    sys.exit(main())
