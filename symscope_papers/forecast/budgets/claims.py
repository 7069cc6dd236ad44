"""Measurements of `forecast/budgets`: all of them go beyond the papers, so none has a verdict of theirs.

What was claimed was fixed before the first result, and stands as the expected value; the remark says whether
it came out.
"""

from __future__ import annotations

from typing import Any

from symscope.runs import Claim, RunTables
from symscope_papers.forecast.budgets.scores import PARTS, BudgetMerit, budget_merits

MOST_RATIO = {0.1: 1.2, 0.03: 2.0}  # share of the time: error over floor at most
LEAST_RANKS = 0.95
LEAST_HELD, MOST_HELD = 0.90, 0.97


def judge_claims(config: Any, tables: RunTables) -> list[Claim]:
    """Error over floor, ranks, intervals and use of the time by budget, held-out cases first."""
    claims = []
    for part in PARTS:
        for share, one in sorted(budget_merits(tables, part).items(), reverse=True):
            where = f"{'Held-out' if part == 'held out' else 'All'} cases, {share:.0%} of the time: "
            claims += [_near(where, one, MOST_RATIO.get(share)), _ranked(where, one), _covers(where, one)]
            claims.append(_in_time(where, one))
    return claims


def _outcome(holds: bool) -> str:
    return "Came out. " if holds else "Did not come out. "


def _near(where: str, one: BudgetMerit, most: float | None) -> Claim:
    merit = one.merit
    return Claim.beyond(
        f"{where}distance of the forecast to a training, over that between two trainings.",
        merit.ratio,
        expected="" if most is None else f"{most:g} or less was claimed",
        why=("" if most is None else _outcome(merit.ratio <= most))
        + f"Mean absolute difference {merit.error:.3f}, bias {merit.bias:+.3f}; two trainings "
        f"{merit.floor:.3f}, with another optimiser {one.other_floor:.3f}; {merit.cases} cases.",
    )


def _ranked(where: str, one: BudgetMerit) -> Claim:
    return Claim.beyond(
        f"{where}rank correlation of forecasts with trained accuracies.",
        one.merit.ranks,
        expected=f"{LEAST_RANKS:g} or more was claimed",
        why=_outcome(one.merit.ranks >= LEAST_RANKS) + "Spearman's rho over classes of all cases.",
    )


def _covers(where: str, one: BudgetMerit) -> Claim:
    return Claim.beyond(
        f"{where}share of trained accuracies of classes inside the intervals.",
        one.merit.covered,
        expected=f"{LEAST_HELD:.2f} to {MOST_HELD:.2f} was claimed",
        why=_outcome(LEAST_HELD <= one.merit.covered <= MOST_HELD)
        + f"Mean width {one.merit.width:.2f}: intervals from 0 to 1 cover and say nothing.",
    )


def _in_time(where: str, one: BudgetMerit) -> Claim:
    return Claim.beyond(
        f"{where}seconds that a forecast took, over its budget.",
        one.time,
        expected="about 1",
        why=f"Longest {one.longest:.2f}. Of {one.asked} cases {one.refused} were refused, as the budget was "
        f"too small, {one.kernel} were answered from the architecture alone.",
    )
