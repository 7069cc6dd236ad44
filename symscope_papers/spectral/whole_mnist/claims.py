"""What exact regression gives on whole orbits of many digits, where the paper had to stop."""

from __future__ import annotations

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.whole_mnist.config import WholeMnist


def run_accuracy(table: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of each run: mean over left-out classes, and its standard error.

    Args:
        table: A row for each run and left-out class.

    Returns:
        Columns seeds, angles, orbits, points, seconds, device, mean, error.

    >>> row = {"seeds": 5, "angles": 4, "orbits": 50, "points": 200, "seconds": 1.0, "device": "cpu"}
    >>> rows = [{**row, "left_out": c, "accuracy": a} for c, a in ((0, 0.2), (1, 0.4))]
    >>> run_accuracy(pd.DataFrame(rows))[["mean", "error"]].round(4).values.tolist()
    [[0.3, 0.1]]
    """
    keys = ["seeds", "angles", "orbits", "points", "seconds", "device"]
    result = table.groupby(keys, sort=False)["accuracy"].agg(["mean", "sem"]).reset_index()
    return result.rename(columns={"sem": "error"}).sort_values(["orbits", "angles"])


def judge_claims(config: WholeMnist, tables: RunTables) -> list[Claim]:
    """Agreement with dense regression, accuracy of every run, and what the largest costs."""
    check = tables["checks"].iloc[0]
    runs = run_accuracy(tables["accuracy"])
    claims = [
        Claim.beyond(
            "Largest difference of a residual by streamed blocks from dense regression over all points.",
            float(check["largest_difference"]),
            expected="0 to rounding",
            why=f"{int(check['points']):,} points, every class left out in turn.",
        )
    ]
    for orbits in runs["orbits"].unique().tolist():
        own = runs[runs["orbits"] == orbits]
        words = ", ".join(
            f"{row['mean']:.4f} ± {row['error']:.4f} at n = {row['angles']}" for _, row in own.iterrows()
        )
        claims.append(
            Claim.beyond(
                f"Accuracy on left-out upright digits by exact regression, {orbits:,} digits.",
                words,
                expected="rises with the number of angles, as in Fig. 6B, where the paper stops at 130 "
                "digits",
                uncertainty="± one standard error over left-out classes",
            )
        )
    largest = runs.sort_values("points").iloc[-1]
    claims.append(
        Claim.beyond(
            f"Seconds for the largest run, {int(largest['points']):,} points, on {largest['device']}.",
            float(largest["seconds"]),
            why="From the first step to the last, every class left out, beside whatever else the machine "
            "did; `python -m benchmarks.spectral_gpu` times it alone.",
        )
    )
    return claims
