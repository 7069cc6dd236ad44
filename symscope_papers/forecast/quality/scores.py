"""Numbers that sum up `forecast/quality`: errors of forecasts, the noise floor, coverage, the overshoot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import pandas as pd

from symscope.runs import RunTables

CASE = ["dataset", "action", "network"]
CLASS = [*CASE, "label"]
NOMINAL = 0.95
USES = ("refit_initial", "refit", "refit_logistic", "refit_head", "continued")  # of a kernel, beside `own`


def with_combined(tables: RunTables) -> RunTables:
    """The tables, with forecasts that are the mean of two: architecture over draws, and a linearised pilot.

    Ends of intervals are means too.
    """
    return {
        **tables,
        "forecasts": _with_means(tables["forecasts"], CLASS),
        "means": _with_means(tables["means"], CASE),
    }


def _with_means(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    alone = rows[rows["variant"] == "architecture-draws"]
    made = [rows]
    for name in [one for one in rows["variant"].unique() if one.startswith("linearised-")]:
        pair = alone.merge(rows[rows["variant"] == name], on=by, suffixes=("", "_pilot"))
        for column in ("accuracy", "low", "high"):
            pair[column] = (pair[column] + pair[f"{column}_pilot"]) / 2
        made.append(pair.assign(variant=name.replace("linearised", "combined"))[list(rows.columns)])
    return pd.concat(made, ignore_index=True)


def match_forecasts(tables: RunTables) -> pd.DataFrame:
    """Every forecast of a class beside the accuracy of networks trained without it, mean over repeats."""
    return tables["forecasts"].merge(_trained(tables), on=CLASS)


def floors(tables: RunTables) -> pd.DataFrame:
    """For every class, how far a training is from one that differs in optimiser or width.

    Column `single` compares trainings of one seed, mean over seeds; `mean` compares means over seeds.
    """
    rows = tables["trainings"]
    base = rows[rows["training"] == "base"]
    result = []
    for other in ("optimiser", "width"):
        pair = base.merge(rows[rows["training"] == other], on=[*CLASS, "repeat"], suffixes=("", "_other"))
        pair["single"] = (pair["accuracy"] - pair["accuracy_other"]).abs()
        by = pair.groupby(CLASS, sort=False)
        part = by[["single", "accuracy", "accuracy_other"]].mean().reset_index()
        part["mean"] = (part["accuracy"] - part["accuracy_other"]).abs()
        result.append(part[[*CLASS, "single", "mean"]].assign(other=other))
    both = pd.concat(result, ignore_index=True)
    return both.assign(group=_groups(both))


def errors(tables: RunTables) -> pd.DataFrame:
    """Every forecast of a class with its errors.

    Column `single` is the mean difference from one training, over seeds; `mean` the difference from the mean
    over seeds; `bias` the same with its sign; `covered` whether the interval holds that mean.
    """
    base = tables["trainings"]
    base = base[base["training"] == "base"][[*CLASS, "repeat", "accuracy"]]
    each = tables["forecasts"].merge(base, on=CLASS, suffixes=("", "_trained"))
    each["single"] = (each["accuracy"] - each["accuracy_trained"]).abs()
    single = each.groupby([*CLASS, "variant"], sort=False)["single"].mean().reset_index()
    result = match_forecasts(tables).merge(single, on=[*CLASS, "variant"])
    result["bias"] = result["accuracy"] - result["trained"]
    result["mean"] = result["bias"].abs()
    result["covered"] = (result["low"] <= result["trained"]) & (result["trained"] <= result["high"])
    return result.assign(group=_groups(result)).dropna(subset=["accuracy"])


def case_means(tables: RunTables) -> pd.DataFrame:
    """Forecasts of the mean over classes, with the trained mean and whether the interval holds it."""
    by_case = _trained(tables).groupby(CASE, sort=False)["trained"].mean().reset_index()
    result = tables["means"].merge(by_case, on=CASE).dropna(subset=["accuracy"])
    result["covered"] = (result["low"] <= result["trained"]) & (result["trained"] <= result["high"])
    return result


@final
@dataclass(frozen=True)
class Score:
    """How good one kind of forecast is.

    Attributes:
        single: Mean absolute difference from one training.
        mean: Absolute error against the mean over seeds.
        bias: Signed error: above 0 too optimistic.
        ranks: Spearman's rho with trained accuracies.
        covered: Share of classes whose interval holds the trained accuracy.
        covered_cases: Share of cases whose interval for the mean over classes holds the trained accuracy.
        classes: Left-out classes it was measured on.
    """

    single: float
    mean: float
    bias: float
    ranks: float
    covered: float
    covered_cases: float
    classes: int


def scores(tables: RunTables) -> dict[str, Score]:
    """The score of every variant."""
    cases = case_means(tables)
    result = {}
    for variant, part in errors(tables).groupby("variant", sort=False):
        result[str(variant)] = Score(
            float(part["single"].mean()),
            float(part["mean"].mean()),
            float(part["bias"].mean()),
            ranks(part),
            float(part["covered"].mean()),
            float(cases[cases["variant"] == variant]["covered"].mean()),
            len(part),
        )
    return result


def noise_floor(tables: RunTables) -> float:
    """Mean difference between two trainings of one seed that differ in optimiser or width."""
    return float(floors(tables)["single"].mean())


def seed_floor(tables: RunTables) -> float:
    """Mean difference between two trainings that differ in the seed alone; NaN with one repeat.

    No forecast that does not know the weights a training starts from can be expected to come closer.
    """
    rows = tables["trainings"]
    base = rows[rows["training"] == "base"]
    pairs = base.merge(base, on=CLASS, suffixes=("", "_other"))
    pairs = pairs[pairs["repeat"] < pairs["repeat_other"]]
    apart = (pairs["accuracy"] - pairs["accuracy_other"]).abs()
    by_class = apart.groupby([pairs[name] for name in CLASS], sort=False).mean()
    return float(by_class.mean()) if len(by_class) else math.nan


def ranks(part: pd.DataFrame) -> float:
    """Spearman's rho between forecast and trained accuracy; NaN where one of them does not vary."""
    if part["accuracy"].nunique() < 2 or part["trained"].nunique() < 2:
        return math.nan
    return float(part["accuracy"].corr(part["trained"], method="spearman"))


def gains(tables: RunTables) -> pd.DataFrame:
    """What each use of the trained kernel reads more than the network itself, mean over classes of a case."""
    rows = tables["refits"].copy()
    for name in USES:
        rows[f"{name}_gain"] = rows[name] - rows["own"]
    wanted = ["own", "moved", *USES, *(f"{name}_gain" for name in USES)]
    return rows.groupby(CASE, sort=False)[wanted].mean().reset_index()


def standard_error(values: pd.Series) -> float:
    """Of the mean; infinite for one value."""
    return float(values.std() / math.sqrt(len(values))) if len(values) > 1 else math.inf


def _trained(tables: RunTables) -> pd.DataFrame:
    rows = tables["trainings"]
    base = rows[rows["training"] == "base"]
    return base.groupby(CLASS, sort=False)["accuracy"].mean().rename("trained").reset_index()


def _groups(table: pd.DataFrame) -> pd.Series:
    """The group that acts, in words that distinguish turning images from renumbering points."""
    points = table["dataset"] == "points"
    return table["action"].where(~points, table["action"] + " (points)")
