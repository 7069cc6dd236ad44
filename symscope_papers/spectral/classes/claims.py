"""What Fig. 6B claims, and what exact regression adds to it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.classes.config import Classes

EXACT_ANGLES = (2, 4)  # rotations that move pixels and nothing else


def mean_accuracy(table: pd.DataFrame, method: str) -> pd.DataFrame:
    """A method's accuracy for each number of angles: mean over trials, and its standard error.

    Args:
        table: Columns angles, trial, left_out, method, accuracy.
        method: Which one.

    Returns:
        Columns angles, mean, error, in the order of the angles; the error is 0 for a single trial.

    >>> rows = [(4, 0, 0.2), (4, 1, 0.4)]
    >>> table = pd.DataFrame([{"angles": n, "trial": t, "left_out": 3, "accuracy": a} for n, t, a in rows])
    >>> mean_accuracy(table.assign(method="rule"), "rule").round(4).values.tolist()
    [[4.0, 0.3, 0.1]]
    """
    own = table[table["method"] == method]
    trials = own.groupby(["angles", "trial"])["accuracy"].mean().reset_index()
    result = trials.groupby("angles")["accuracy"].agg(["mean", "sem"]).reset_index()
    return result.rename(columns={"sem": "error"}).fillna({"error": 0.0}).sort_values("angles")


def half_way(angles: Sequence[int], accuracy: Sequence[float]) -> float | None:
    """The base-2 logarithm of the number of angles at which half is right, between the two it lies between.

    Args:
        angles: Increasing.
        accuracy: One for each.

    Returns:
        None when the curve does not cross one half from below.

    >>> half_way([8, 16], [0.25, 0.75])
    3.5
    """
    for n, a, m, b in zip(angles, accuracy, angles[1:], accuracy[1:], strict=False):
        if a < 0.5 <= b:
            return math.log2(n) + (math.log2(m) - math.log2(n)) * (0.5 - a) / (b - a)
    return None


def judge_claims(config: Classes, tables: RunTables) -> list[Claim]:
    """The claims of Fig. 6B."""
    table = tables["accuracy"]
    curves = {
        method: mean_accuracy(table, method) for method in ("rule", "regression", "group form", "trained")
    }
    trained = curves["trained"]
    rise = float(trained["mean"].iloc[-1] - trained["mean"].iloc[0])
    fitted = float(mean_accuracy(table, "trained, on training points")["mean"].min())
    few, many = int(trained["angles"].iloc[0]), int(trained["angles"].iloc[-1])
    return [
        Claim.at_least(
            "Trained networks recognise left-out upright digits only when there are many angles.",
            "Fig. 6B",
            rise,
            0.5,
            why=f"Rise of the accuracy from {few} to {many} angles; threshold is ours. Least accuracy on "
            f"the points they were trained on: {fitted:.3f}.",
        ),
        _crossing(curves, "rule", "The paper's one-versus-many rule", "Fig. 6B"),
        _crossing(curves, "regression", "Exact kernel regression", "beyond the paper"),
        Claim.at_most(
            "The rule's accuracy follows that of trained networks at every number of angles.",
            "Fig. 6B",
            float((curves["rule"]["mean"] - trained["mean"]).abs().max()),
            0.3,
            why="Largest difference of the two means; the paper says “qualitatively”, threshold is ours.",
        ),
        _exact(tables["agreement"]),
        Claim.at_most(
            "At every number of angles the group form gives the accuracy of regression over all points.",
            "beyond the paper",
            float((curves["group form"]["mean"] - curves["regression"]["mean"]).abs().max()),
            0.05,
            why="Rotating pixels is not exactly a group action, so the two may differ; threshold is ours.",
        ),
    ]


def _crossing(curves: dict[str, pd.DataFrame], method: str, name: str, source: str) -> Claim:
    """Claim: a prediction gives within one doubling how many angles a trained network needs."""
    statement = (
        f"{name} predicts, to within a factor of two, how many angles it takes to get half of them right."
    )
    ours, theirs = (
        half_way(curves[one]["angles"].tolist(), curves[one]["mean"].tolist()) for one in (method, "trained")
    )
    if ours is None or theirs is None:
        which = "trained networks" if theirs is None else "the prediction"
        return Claim.not_checked(
            statement, source, f"the accuracy of {which} does not cross one half at these numbers"
        )
    why = (
        f"Difference in doublings: {2**ours:.1f} angles against {2**theirs:.1f} of trained networks; "
        "threshold is ours."
    )
    return Claim.at_most(statement, source, abs(ours - theirs), 1.0, why=why)


def _exact(agreement: pd.DataFrame) -> Claim:
    statement = "Where rotations are exact (2 and 4 angles) the group form is regression over all points."
    own = agreement[agreement["angles"].isin(EXACT_ANGLES)]
    if own.empty:
        return Claim.not_checked(statement, "beyond the paper", "needs 2 or 4 angles")
    why = f"Largest difference of a prediction over {len(own)} problems."
    return Claim.at_most(statement, "beyond the paper", float(own["largest_difference"].max()), 1e-8, why=why)
