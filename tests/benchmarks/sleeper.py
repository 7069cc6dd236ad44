"""A side of the benchmark whose time and memory are known."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.protocol import serve


def prepare(job: dict[str, Any], x: np.ndarray) -> Any:
    def run() -> np.ndarray:
        block = np.ones(job["megabytes"] * 2**17)
        time.sleep(job["pause"])
        return x @ x.T * block[0]

    return run


if __name__ == "__main__":
    serve(prepare, {"sleeper": "1"})
