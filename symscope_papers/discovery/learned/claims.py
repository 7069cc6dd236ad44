"""Claims shared by the learned experiments: what is learned at the paper's settings, and what with ours."""

from __future__ import annotations

from math import nan
from typing import Any

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.discovery.learned.config import PAPER_STEPS, LearnedRun

LEVEL = 0.05  # of tests against random fields and against other data
OPEN = (
    "The paper leaves open how many steps it trains, γ3, the points in a step, the activation and start of "
    "the action network, and how parameters and data are drawn."
)


def part(table: pd.DataFrame, objective: str, action: str = "network") -> pd.DataFrame:
    """Rows of one objective and one action."""
    return table[(table["objective"] == objective) & (table["action"] == action)]


def outcome(
    config: LearnedRun,
    statement: str,
    source: str,
    good: bool,
    *,
    measured: str,
    threshold: str,
    quote: str,
    reading: str = "",
    why: str = "",
) -> Claim:
    """A statement on trainings: what fails is no contradiction where the paper leaves settings open."""
    words: dict[str, Any] = {"measured": measured, "quote": quote}
    if good:
        return Claim.from_check(
            statement, source, True, threshold=threshold, reading=reading, why=why, **words
        )
    if config.steps < PAPER_STEPS:
        return Claim.not_checked(
            statement,
            source,
            f"{measured}, after {config.steps} steps; preset paper trains {PAPER_STEPS}.",
            quote=quote,
        )
    stated = f"this in its figure (tested as: {threshold})"
    return Claim.number_differs(
        statement, source, stated=stated, why=f"{reading} {why} {OPEN}".strip(), **words
    )


def learned_claim(config: LearnedRun, tables: RunTables, source: str, quote: str) -> Claim:
    """Whether losses change less along fields learned with the paper's objective than along random ones."""
    statement = (
        "Held-out losses change less along learned fields than along random fields of the same length."
    )
    rows = part(tables["fields"], "paper")
    if not len(rows):
        return Claim.not_checked(statement, source, "the paper's objective is not in the config", quote=quote)
    better = rows["chance"] <= LEVEL
    counts = ", ".join(
        f"{int(better[one.index].sum())} of {len(one)} ({name})" for name, one in rows.groupby("network")
    )
    most = bool(better.groupby(rows["network"]).mean().gt(0.5).all())
    return outcome(
        config,
        statement,
        source,
        most,
        measured=f"{counts} fields",
        threshold=f"more than half of the fields of each network, rank test at {LEVEL:.0%}",
        quote=quote,
        reading="To learn is read as the least it can mean: better than a random direction, in more than "
        "half of the fields of each network. The half is ours: the paper shows one training of each network "
        "and states no share.",
        why=f"Median drift over a random field's: {rows['drift_ratio'].median():.2g}; a symmetry has 0.",
    )


def drift_claims(tables: RunTables, source: str, quote: str) -> list[Claim]:
    """Held-out drift against random fields: quantifies the paper's objective, goes beyond it with ours."""
    claims = []
    for (objective, action), rows in tables["fields"].groupby(["objective", "action"], sort=False):
        how = {"network": "action network", "linear": "action gθ"}.get(str(action), f"action {action}")
        statement = (
            "Loss drift along learned fields over that along random fields of the same length "
            f"({objective} objective, {how})."
        )
        good = int((rows["judgement"] == "SYMMETRY").sum())
        low, high = rows["drift_ratio"].quantile([0.25, 0.75])
        words: dict[str, Any] = {
            "uncertainty": f"(quartiles {low:.2g} to {high:.2g} over {len(rows)} fields)",
            "why": "Worst held-out parameters and data; median over fields. "
            f"{good} of {len(rows)} stay within the tolerance at all held-out points.",
        }
        median = float(rows["drift_ratio"].median())
        if objective == "paper" and action == "network":
            claims.append(Claim.quantified(statement, source, median, quote=quote, **words))
        else:
            claims.append(Claim.beyond(statement, median, expected="0 for a symmetry", **words))
    return claims


def length_claim(tables: RunTables) -> list[Claim]:
    """Eq. 8 asks for fields of length 1; with Eq. 5 a shorter field is a better one."""
    rows = part(tables["fields"], "paper")
    if not len(rows):
        return []
    low, high = rows["length"].quantile([0.25, 0.75]) if len(rows) else (nan, nan)
    return [
        Claim.quantified(
            "Length of the fields learned with the paper's weights, where Eq. 8 asks for β = 1.",
            "Eq. 8",
            float(rows["length"].median()),
            quote="to encourage the norm of the infinitesimal action to be around a fixed positive real "
            "number",
            uncertainty=f"(quartiles {low:.2g} to {high:.2g} over {len(rows)} fields)",
            why="Eq. 5 falls when a field shrinks, so the weights decide whether it turns or shrinks.",
        )
    ]
