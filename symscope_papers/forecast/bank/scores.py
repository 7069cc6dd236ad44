"""Figures of merit of forecasts: error over the noise floor, ranks, intervals, decisions, cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import pandas as pd

from symscope.runs import RunTables

CASE = ["data", "network", "action", "coverage", "samples"]
NOMINAL = 0.95
LEARNED = 0.95  # of the points trained on


@final
@dataclass(frozen=True)
class Merit:
    """How good one kind of forecast is.

    Attributes:
        error: Mean absolute difference from a training, a case counting once.
        floor: The same between the two trainings of a case.
        bias: Mean of forecast minus training.
        ranks: Spearman's rank correlation over classes of all cases.
        covered: Share of trained accuracies inside the intervals; NaN without intervals.
        width: Mean width of the intervals.
        cases: Number of cases.
    """

    error: float
    floor: float
    bias: float
    ranks: float
    covered: float
    width: float
    cases: int

    @property
    def ratio(self) -> float:
        """Error over floor."""
        return self.error / self.floor if self.floor else math.inf


def matched(tables: RunTables, kind: str = "new") -> pd.DataFrame:
    """Every forecast and baseline of a class beside both trainings; one row for each.

    Args:
        tables: Tables of the bank.
        kind: "new" or "known" samples.

    Returns:
        The case, `forecast_of` ("network after 10%", baselines), `position`, `forecast`, `accuracy`,
        `second_accuracy`, `cost`.
    """
    pilots = tables["pilots"]
    pilots = pilots[pilots["kind"] == kind]
    parts = []
    for words, column in (
        ("network after", "after"),
        ("accuracy at seen transformations after", "covered"),
    ):
        part = pilots[[*CASE, "cost", "position", column]].rename(columns={column: "forecast"})
        part["forecast_of"] = [f"{words} {cost:.0%}" for cost in part["cost"]]
        parts.append(part)
    if kind == "new" and "baselines" in tables:
        part = tables["baselines"].rename(columns={"accuracy": "forecast", "baseline": "forecast_of"})
        parts.append(part[[*CASE, "position", "forecast", "forecast_of"]].dropna())
    trained = tables["trained"]
    trained = trained[trained["kind"] == kind]
    both = pd.concat(parts, ignore_index=True)
    columns = [*CASE, "position", "accuracy", "second_accuracy"]
    return both.merge(trained[columns], on=[*CASE, "position"])


def merit(rows: pd.DataFrame) -> Merit:
    """The figures of merit of some rows of `matched`, all of one kind of forecast.

    >>> case = dict.fromkeys(CASE, "x") | {"position": 0, "forecast": 0.5, "low": 0.4, "high": 0.6}
    >>> merit(pd.DataFrame([case | {"accuracy": 0.5, "second_accuracy": 0.7}])).ratio
    0.5
    """
    rows = rows.assign(
        error=(
            (rows["forecast"] - rows["accuracy"]).abs() + (rows["forecast"] - rows["second_accuracy"]).abs()
        )
        / 2,
        floor=(rows["accuracy"] - rows["second_accuracy"]).abs(),
        bias=rows["forecast"] - (rows["accuracy"] + rows["second_accuracy"]) / 2,
    )
    by_case = rows.groupby(CASE)[["error", "floor", "bias"]].mean()
    covered = width = math.nan
    if "low" in rows and not rows["low"].isna().all():
        inside = [rows[name].between(rows["low"], rows["high"]) for name in ("accuracy", "second_accuracy")]
        covered = float(sum(one.mean() for one in inside) / 2)
        width = float((rows["high"] - rows["low"]).mean())
    mean = (rows["accuracy"] + rows["second_accuracy"]) / 2
    several = min(rows["forecast"].nunique(), mean.nunique()) > 1
    ranks = float(rows["forecast"].corr(mean, method="spearman")) if several else math.nan
    error, floor, bias = (float(by_case[name].mean()) for name in ("error", "floor", "bias"))
    return Merit(error, floor, bias, ranks, covered, width, len(by_case))


def merits(rows: pd.DataFrame) -> dict[str, Merit]:
    """The figures of merit of every kind of forecast, in the order they occur."""
    return {str(name): merit(part) for name, part in rows.groupby("forecast_of", sort=False)}


def learned_cases(tables: RunTables) -> pd.DataFrame:
    """The cases in which both trainings have learned what they were shown."""
    cases = tables["cases"]
    return cases[(cases["fitted"] >= LEARNED) & (cases["second_fitted"] >= LEARNED)][CASE]


def decisions(tables: RunTables) -> pd.DataFrame:
    """For each case with a coverage: which remedy the forecast puts first, and what it reached.

    A decision is right if the remedy reached the best of all, or less by no more than the noise floor.
    """
    remedies = tables.get("remedies", pd.DataFrame())
    if remedies.empty:
        return pd.DataFrame(columns=[*CASE, "advised", "best", "right"])
    trained = tables["trained"]
    trained = trained[trained["kind"] == "new"]
    gap = (trained["accuracy"] - trained["second_accuracy"]).abs()
    floors = {case: float(part.mean()) for case, part in gap.groupby([trained[name] for name in CASE])}
    rows = []
    for case, part in remedies.groupby(CASE, sort=False):
        first = part.sort_values("forecast", ascending=False).iloc[0]
        best = part.sort_values("accuracy", ascending=False).iloc[0]
        right = first["accuracy"] >= best["accuracy"] - floors[case]
        rows.append(
            dict(zip(CASE, case, strict=True))
            | {"advised": first["remedy"], "best": best["remedy"], "right": bool(right)}
        )
    return pd.DataFrame(rows)
