"""The correction that the library's forecast uses, fitted on the bank, and judged on what was left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float64
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor

from symscope.forecasting.methods import (
    INVARIANT,
    LEAST_SPREAD,
    WEIGHTS,
    class_logits,
    correction_features,
    half_widths,
    moved_scores,
    to_come,
)
from symscope.runs import RunTables
from symscope_papers.forecast.bank.config import bank_cases
from symscope_papers.forecast.bank.scores import CASE, matched

RIDGE = 1e-3  # on weights in units of one standard deviation of their feature
SMOOTH = 1e-3  # squared accuracies below which an absolute difference is rounded off
NOMINAL = 0.95
BOTH = ["accuracy", "second_accuracy"]
FEATURES = [f"f{k}" for k in range(len(WEIGHTS))]


@final
@dataclass(frozen=True)
class Widths:
    """Half widths of 95 % intervals.

    Attributes:
        whole: Half width of a class after a whole training, in units of its spread.
        further: What a correction adds to it, for one that applies in full.
        shared: Part of the squared half width of a class that the mean over classes keeps.
    """

    whole: float
    further: float
    shared: float


def correction_rows(tables: RunTables) -> pd.DataFrame:
    """Classes of all cases and costs, on new samples, with what the correction is a function of.

    Returns:
        The case, `cost`, `position`, both trained accuracies, `z` (the pilot's logit), `f0` to `f4`, `coming`
        (how much of the correction applies) and `weight` (a case counts once).
    """
    rows = tables["pilots"]
    rows = rows[rows["kind"] == "new"]
    trained = tables["trained"]
    trained = trained[trained["kind"] == "new"][[*CASE, "position", "accuracy", "second_accuracy"]]
    beside = tables["baselines"]
    beside = beside[beside["baseline"] == "nearest neighbour"].rename(columns={"accuracy": "beside"})
    rows = rows.merge(trained, on=[*CASE, "position"])
    rows = rows.merge(beside[[*CASE, "position", "beside"]], on=[*CASE, "position"])
    rows["coming"] = [to_come(one) for one in rows["progress"]]
    points = torch.tensor(rows["points"].to_numpy(np.int64))
    rows["z"] = class_logits(_tensor(rows["after"]), points).numpy()
    # neighbours of inputs say nothing of a network that is invariant
    rows["near"] = rows[["near", "beside"]].max(axis=1).where(rows["asymmetry"] > INVARIANT, rows["near"])
    rows[FEATURES] = 0.0
    for _, part in rows.groupby([*CASE, "cost"]):
        rows.loc[part.index, FEATURES] = _features(part)
    rows["weight"] = 1 / rows.groupby([*CASE, "cost"])["position"].transform("count")
    return rows


def _features(part: pd.DataFrame) -> NDArray[np.float64]:
    """What the correction of the classes of one case and cost is a linear function of."""
    pilot, near, sure, fitted = (_tensor(part[name]) for name in ("after", "near", "sure", "fitted"))
    points = torch.tensor(part["points"].to_numpy(np.int64))
    progress = float(part["progress"].iloc[0])
    near, sure = (torch.where(one.isnan(), pilot, one) for one in (near, sure))
    return correction_features(pilot, near, sure, fitted, points, progress).numpy()


def corrected(rows: pd.DataFrame, weights: NDArray[np.float64]) -> pd.Series:
    """Forecasts of `correction_rows` with some weights."""
    shift = torch.tensor(rows[FEATURES].to_numpy() @ weights)
    moved = moved_scores(_tensor(rows["after"]), _tensor(rows["z"]), shift).numpy()
    return pd.Series(moved, index=rows.index)


def fit_weights(rows: pd.DataFrame) -> NDArray[np.float64]:
    """The weights of least mean absolute difference from the mean of both trainings, a case counting once."""
    features, z = rows[FEATURES].to_numpy(), rows["z"].to_numpy()
    wanted = ((rows["accuracy"] + rows["second_accuracy"]) / 2).to_numpy()
    share = (rows["weight"] / rows["weight"].sum()).to_numpy()
    unit = features.std(0) + 1e-9
    scaled = features / unit
    rest = rows["after"].to_numpy() - 1 / (1 + np.exp(-z))  # what smoothing took away

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        forecast = 1 / (1 + np.exp(-(z + scaled @ weights)))
        error = forecast + rest - wanted
        size = np.sqrt(error**2 + SMOOTH)
        slope = (share * error / size * forecast * (1 - forecast)) @ scaled
        return float(share @ size + RIDGE * weights @ weights), slope + 2 * RIDGE * weights

    return minimize(loss, np.zeros(len(FEATURES)), jac=True, method="L-BFGS-B").x / unit


def left_out(rows: pd.DataFrame, by: str) -> pd.Series:
    """Forecasts of every row by a fit that has not seen its network, data set, action or case.

    Args:
        rows: What `correction_rows` gives.
        by: Column whose values are left out one at a time.
    """
    result = pd.Series(np.nan, index=rows.index)
    for value in rows[by].unique():
        mine = rows[by] == value
        result[mine] = corrected(rows[mine], fit_weights(rows[~mine]))
    return result


def fit_widths(rows: pd.DataFrame, forecast: pd.Series) -> Widths:
    """Half widths that hold 95 % of the trained accuracies around forecasts by fits without their network.

    The half width of a class is `(whole + further * coming) * spread`: the 95 % quantile by regression, so
    that it is right for long and for short pilots. That of the mean over k classes is, in mean half widths,
    `sqrt(shared + (1 - shared) / k)`: it holds where `shared` is at least (ratio² - 1/k) / (1 - 1/k), with
    the ratio of the error of the mean to the mean half width.
    """
    spread = 2 * np.sqrt(np.clip(forecast * (1 - forecast), 0, None)) + LEAST_SPREAD
    error = np.concatenate([(forecast - rows[name]).abs() / spread for name in BOTH])
    coming = np.tile(rows["coming"].to_numpy(), 2)
    weight = np.tile(rows["weight"].to_numpy(), 2)

    def loss(ends: NDArray[np.float64]) -> float:
        rest = error - (ends[0] + ends[1] * coming)
        return float(weight @ np.maximum(NOMINAL * rest, (NOMINAL - 1) * rest))

    whole, further = minimize(loss, np.array([0.15, 0.2]), method="Nelder-Mead").x
    half = (whole + further * rows["coming"]) * spread
    table = rows.assign(forecast=forecast, half=half).groupby([*CASE, "cost"])
    means, one = table[["forecast", "half", *BOTH]].mean(), 1 / table.size()
    several = one < 1
    needed = [
        ((((means["forecast"] - means[name]) / means["half"]) ** 2 - one) / (1 - one))[several]
        for name in BOTH
    ]
    return Widths(float(whole), float(further), float(pd.concat(needed).quantile(NOMINAL)))


def library_forecast(rows: pd.DataFrame) -> pd.DataFrame:
    """The forecasts and intervals of the library, with the weights it has: columns forecast, low, high."""
    return with_intervals(rows, corrected(rows, np.array(WEIGHTS)))


def with_intervals(rows: pd.DataFrame, forecast: pd.Series) -> pd.DataFrame:
    """Forecasts with the intervals that the library gives them."""
    points = torch.tensor(rows["points"].to_numpy(np.int64))
    halves = pd.Series(0.0, index=rows.index)
    for progress in rows["progress"].unique():
        mine = (rows["progress"] == progress).to_numpy(copy=True)
        halves[mine] = half_widths(_tensor(forecast[mine]), float(progress), points[mine]).numpy()
    low, high = (forecast - halves).clip(lower=0), (forecast + halves).clip(upper=1)
    return pd.DataFrame({"forecast": forecast, "low": low, "high": high})


def all_forecasts(tables: RunTables, unseen: str | None = None) -> pd.DataFrame:
    """`matched`, with the library's forecast beside the baselines, "forecast 10%".

    Args:
        tables: Tables of the bank.
        unseen: A column, "network", "data" or "action": forecasts by weights that were fitted without the
            value a case has there, and without cases that are held out; None takes the library's weights.
    """
    rows = correction_rows(tables)
    if unseen is None:
        result = library_forecast(rows)
    else:
        held = held_out(rows)
        forecast = pd.Series(np.nan, index=rows.index)
        forecast[held] = corrected(rows[held], fit_weights(rows[~held]))
        forecast[~held] = left_out(rows[~held], unseen)
        result = with_intervals(rows, forecast)
    names = pd.Series([f"forecast {cost:.0%}" for cost in rows["cost"]], index=rows.index, name="forecast_of")
    own = pd.concat([rows[[*CASE, "cost", "position", *BOTH]], names, result], axis=1)
    return pd.concat([own, matched(tables)], ignore_index=True)


def held_out(rows: pd.DataFrame) -> pd.Series:
    """Which rows are of cases that no fit may use."""
    held = {tuple(case[name] for name in CASE) for case in bank_cases() if case["held_out"]}
    return pd.Series([tuple(row) in held for row in rows[CASE].itertuples(index=False)], index=rows.index)


def _tensor(values: pd.Series) -> Float64[Tensor, "p"]:
    return torch.tensor(values.to_numpy(np.float64, copy=True))
