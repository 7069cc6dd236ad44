"""Prints the tables of docs/results/forecast.md from a finished run of `forecast/quality`.

python -m docs.tooling.forecast_tables RUN_FOLDER
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pandas as pd

from symscope.runs import RunOutcome, RunTables
from symscope_papers.forecast.quality.data import DATASETS
from symscope_papers.forecast.quality.networks import NETWORKS
from symscope_papers.forecast.quality.scores import (
    errors,
    floors,
    gains,
    noise_floor,
    ranks,
    scores,
    seed_floor,
    standard_error,
    with_combined,
)
from symscope_papers.forecast.quality.variants import variant_names

LEARNED = 0.98  # mean accuracy on what was shown
SHOWN = ("architecture", "linearised-10", "combined-10")


def main(folder: Path) -> None:
    tables = with_combined(RunOutcome.from_folder(folder).tables())
    floor = floors(tables)
    by_kind = floor.groupby("other", sort=False)["single"].mean()
    words = ", ".join(f"another {name} {value:.3f}" for name, value in by_kind.items())
    print(f"Noise floor {floor['single'].mean():.3f}: {words}; another seed {seed_floor(tables):.3f}")
    print("\n| forecast | differs by | times the floor | bias | rank correlation | intervals cover |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    names = variant_names((1, 3, 10))
    for variant, score in sorted(scores(tables).items(), key=lambda item: item[1].single):
        ratio = score.single / floor["single"].mean()
        print(
            f"| {names.get(variant, variant)} | {score.single:.3f} | {ratio:.2f} | {score.bias:+.3f} | "
            f"{score.ranks:.2f} | {score.covered:.0%} |"
        )
    result = errors(tables)
    for column, words in (("network", NETWORKS), ("group", {}), ("dataset", DATASETS)):
        print(f"\n| {column} | trained | two trainings | " + " | ".join(SHOWN) + " | rank correlation |")
        print("| --- |" + " ---: |" * (len(SHOWN) + 3))
        for name, part in result.groupby(column, sort=False):
            mine = floor[floor[column] == name]["single"].mean()
            first = part[part["variant"] == SHOWN[0]]
            errors_of = [part[part["variant"] == variant]["single"].mean() for variant in SHOWN]
            rho = ranks(first)
            cells = [first["trained"].mean(), mine, *errors_of]
            print(
                f"| {words.get(str(name), name)} | "
                + " | ".join(f"{value:.2f}" for value in cells)
                + f" | {'' if math.isnan(rho) else f'{rho:.2f}'} |"
            )
    _learned(tables)
    _overshoot(gains(tables))


def _learned(tables: RunTables) -> None:
    """What the networks learned of what they were shown, and the same numbers for those that learned all."""
    seen = tables["trainings"]
    seen = seen[seen["training"] == "base"].groupby("network", sort=False)["seen_accuracy"].mean()
    print("\nSeen accuracy: " + ", ".join(f"{name} {value:.2f}" for name, value in seen.items()))
    names = list(seen[seen > LEARNED].index)
    mine = {
        name: rows[rows["network"].isin(names)] if "network" in rows else rows
        for name, rows in tables.items()
    }
    floor, table, gain = noise_floor(mine), scores(mine), gains(mine)["refit_gain"]
    print(f"Of {', '.join(names)}: floor {floor:.3f}", end="")
    for variant in SHOWN:
        score = table[variant]
        print(
            f"; {variant} {score.single:.3f}, {score.single / floor:.2f} times it, rank {score.ranks:.2f}",
            end="",
        )
    print(f"; the refit gains {gain.mean():+.3f}, standard error {standard_error(gain):.3f}")
    every = gains(tables)
    share = every.groupby("network")["refit_gain"].sum().max() / every["refit_gain"].sum()
    print(f"Largest share of one network in the refit's gain: {share:.2f}")


def _overshoot(result: pd.DataFrame) -> None:
    ways = ("refit_initial", "own", "continued", "refit_head", "refit_logistic", "refit")
    print("\n| network | " + " | ".join(ways) + " | kernel moved |")
    print("| --- |" + " ---: |" * (len(ways) + 1))
    for name, part in [*result.groupby("network", sort=False), ("all", result)]:
        print(
            f"| {NETWORKS.get(str(name), name)} | "
            + " | ".join(f"{part[way].mean():.2f}" for way in ways)
            + f" | {part['moved'].mean():.2f} |"
        )
    gain = result["refit_gain"]
    print(
        f"\nThe refit gains {gain.mean():+.3f}, standard error {standard_error(gain):.3f}, {len(gain)} cases"
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
