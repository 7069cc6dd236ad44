"""What importing symscope adds to torch's own import, each in a fresh interpreter."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

SCRIPT = """
import json, time
a = time.perf_counter()
import torch
b = time.perf_counter()
import symscope
c = time.perf_counter()
import symscope.kernels
d = time.perf_counter()
print(json.dumps({"torch": b - a, "symscope": c - b, "symscope.kernels": d - c}))
"""


def import_seconds(repeats: int) -> dict[str, float]:
    """Median seconds of importing torch, then symscope and its kernels; a cold one before does not count."""
    runs = [
        json.loads(subprocess.run([sys.executable, "-c", SCRIPT], check=True, stdout=subprocess.PIPE).stdout)
        for _ in range(repeats + 1)
    ][1:]
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}
