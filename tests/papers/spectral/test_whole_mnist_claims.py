"""Claims of `spectral/whole-mnist` from tables made by hand."""

from __future__ import annotations

import pandas as pd

from symscope_papers.spectral.whole_mnist_claims import MILLIONS, THOUSANDS, whole_claims


def tables(runs, difference=1e-10):
    rows = [
        {
            "part": "run",
            "seeds": seeds,
            "angles": angles,
            "left_out": label,
            "orbits": orbits,
            "points": orbits * angles,
            "accuracy": accuracy,
            "seconds": seconds,
            "device": device,
        }
        for seeds, angles, orbits, accuracy, seconds, device in runs
        for label in range(10)
    ]
    checks = pd.DataFrame([{"seeds": 2, "angles": 8, "points": 160, "largest_difference": difference}])
    return {"accuracy": pd.DataFrame(rows), "checks": checks}


LARGE = [
    (1000, 2, 10_000, 0.2, 1.0, "cuda"),
    (1000, 64, 10_000, 0.999, 3.7, "cuda"),
    (0, 64, 60_000, 0.998, 443.0, "cuda"),
]


def verdicts(runs, **changes):
    return [claim.verdict.value for claim in whole_claims(None, tables(runs, **changes))]


def test_the_large_runs_decide_every_claim():
    assert (THOUSANDS, MILLIONS) == (10_000 * 64, 60_000 * 64)
    assert verdicts(LARGE) == ["reproduced"] * 5


def test_the_opposite_is_not_reproduced():
    worse = [
        (1000, 2, 10_000, 0.7, 1.0, "cuda"),
        (1000, 64, 10_000, 0.98, 16.0, "cuda"),
        (0, 64, 60_000, 0.9, 1.0, "cuda"),
    ]
    assert verdicts(worse, difference=1e-7) == ["not reproduced"] * 5


def test_time_counts_on_a_gpu_alone_and_small_runs_decide_little():
    on_cpu = [(*row[:5], "cpu") for row in LARGE]
    assert verdicts(on_cpu)[4] == "not checked at this size"
    assert verdicts([(5, 8, 50, 0.5, 1.0, "cpu")])[1:] == ["not checked at this size"] * 4
