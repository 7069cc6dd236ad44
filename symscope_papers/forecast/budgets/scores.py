"""Figures of merit of forecasts in a budget: those of the bank, and what the time was used for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import pandas as pd

from symscope.runs import RunTables
from symscope_papers.forecast.bank.scores import CASE, Merit, merit

PARTS = ("held out", "all")


@final
@dataclass(frozen=True)
class BudgetMerit:
    """How good forecasts in one share of the time are.

    Attributes:
        merit: Error, floor, rank correlation and intervals, of the cases that have an answer; both trainings
            have the same optimiser.
        other_floor: Mean absolute difference of a training from one with the second optimiser.
        asked: Cases that were asked.
        refused: Cases whose budget was refused as too small.
        kernel: Cases answered from the architecture alone, without pilot trainings.
        time: Mean of the seconds taken over the budget, of cases that have an answer.
        longest: The largest of these.
        pilots: Mean cost of the pilots alone, as a share of the trainings they replace.
    """

    merit: Merit
    other_floor: float
    asked: int
    refused: int
    kernel: int
    time: float
    longest: float
    pilots: float


def matched_forecasts(tables: RunTables) -> pd.DataFrame:
    """Every forecast of a class beside the trainings of its case; one row for each.

    Returns:
        The case, `held_out`, `share`, `position`, `method`, `forecast`, `low`, `high`, and the accuracies
        `accuracy`, `second_accuracy` (another seed) and `other_accuracy` (another optimiser).
    """
    if "forecasts" not in tables:
        return pd.DataFrame()
    trained = tables["trained"].rename(columns={"first_accuracy": "accuracy"})
    columns = [*CASE, "position", "accuracy", "second_accuracy", "other_accuracy"]
    return tables["forecasts"].merge(trained[columns], on=[*CASE, "position"])


def budget_merits(tables: RunTables, part: str = "all") -> dict[float, BudgetMerit]:
    """The figures of merit of each share of the time that has an answer.

    Args:
        tables: Tables of a run.
        part: "all", or the cases that are "held out".
    """
    rows, asked = matched_forecasts(tables), tables["asked"]
    if part == "held out":
        asked = asked[asked["held_out"]]
        rows = rows[rows["held_out"]] if len(rows) else rows
    result = {}
    for share, mine in asked.groupby("share"):
        found = rows[rows["share"] == share] if len(rows) else rows
        if found.empty:
            continue
        answered = mine[mine["method"] != "refused"]
        used = answered["seconds"] / answered["budget"]
        result[float(str(share))] = BudgetMerit(
            merit(found),
            merit(found.assign(second_accuracy=found["other_accuracy"])).floor,
            len(mine),
            len(mine) - len(answered),
            int((mine["method"] == "kernel").sum()),
            float(used.mean()),
            float(used.max()),
            float(answered.loc[answered["method"] == "pilot", "steps_share"].mean()),
        )
    return result
