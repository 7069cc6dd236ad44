"""Measurements of `forecast/bank`: all of them go beyond the papers, so none has a verdict.

What was claimed was fixed before the first result (docs/results/forecast-protocol.md), and stands as the
expected value.
"""

from __future__ import annotations

from typing import Any

from symscope.runs import Claim, RunTables
from symscope_papers.forecast.bank.correction import all_forecasts
from symscope_papers.forecast.bank.scores import Merit, decisions, learned_cases, merits

CLAIMED = {0.1: 1.2, 0.03: 2.0}  # cost: error over floor at most


def judge_claims(config: Any, tables: RunTables) -> list[Claim]:
    """Error over floor by cost, ranks, intervals, decisions, and what networks learned at all."""
    if not config.trainings:  # forecasts alone: the bank has what they are held against
        return []
    table = merits(all_forecasts(tables))
    claims = [_learned(tables)]
    for cost in sorted(config.costs, reverse=True):
        name = f"forecast {cost:.0%}"
        claims += [
            _near(name, table[name], CLAIMED.get(cost)),
            _covers(name, table[name]),
        ]
    last = f"forecast {max(config.costs):.0%}"
    claims += [
        Claim.beyond(
            f"Rank correlation of a {last} of the cost with trained accuracies.",
            table[last].ranks,
            expected="0.95 or more was claimed",
            why="Spearman's rho over classes of all cases. Others: "
            + ", ".join(f"{name} {one.ranks:.2f}" for name, one in table.items() if name != last)
            + ".",
        ),
        *_decided(tables),
        *[
            Claim.beyond(
                f"Distance of {name} to a training, over the distance between two trainings.",
                one.ratio,
                why=f"Mean absolute difference {one.error:.3f}, {one.cases} cases; floor {one.floor:.3f}.",
            )
            for name, one in table.items()
            if not name.startswith("forecast")
        ],
    ]
    return claims


def _learned(tables: RunTables) -> Claim:
    cases = tables["cases"]
    learned = len(learned_cases(tables))
    return Claim.beyond(
        "Share of cases in which both trainings learned what they were shown.",
        learned / len(cases),
        expected="near 1, so that accuracies at other transformations mean something",
        why=f"95 % of the points trained on; {learned} of {len(cases)} cases.",
    )


def _near(name: str, one: Merit, most: float | None) -> Claim:
    return Claim.beyond(
        f"Distance of a {name} of the cost to a training, over that between two trainings.",
        one.ratio,
        expected="" if most is None else f"{most:g} or less was claimed",
        why=f"Mean absolute difference {one.error:.3f}, bias {one.bias:+.3f}; two trainings "
        f"{one.floor:.3f}; {one.cases} cases.",
    )


def _covers(name: str, one: Merit) -> Claim:
    return Claim.beyond(
        f"Share of trained accuracies of classes inside the intervals of a {name} of the cost.",
        one.covered,
        expected="0.90 to 0.97 was claimed",
        why=f"Mean width {one.width:.2f}: intervals from 0 to 1 cover and say nothing.",
    )


def _decided(tables: RunTables) -> list[Claim]:
    rows = decisions(tables)
    if rows.empty:
        return []
    wrong = rows[~rows["right"]]
    words = "; ".join(
        f"{row['data']} {row['network']} {row['action']} {row['coverage']} {row['samples']}: advised "
        f"{row['advised']}, best {row['best']}"
        for _, row in wrong.head(5).iterrows()
    )
    return [
        Claim.beyond(
            "Share of cases in which the remedy that the forecast puts first is the best when trained.",
            float(rows["right"].mean()),
            why=f"Of nothing, averaging, augmentation, to within the noise floor; {len(rows)} cases."
            + (f" Wrong: {words}." if words else ""),
        )
    ]
