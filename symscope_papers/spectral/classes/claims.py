"""What Sec. 3.4 states of ten classes, and what exact regression adds to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.classes.config import Classes
from symscope_papers.spectral.pairs.judged import NNGP, same_conclusions

SOURCE = "Sec. 3.4, Fig. 6B"
MATCHES = (
    "The spectral accuracy qualitatively matches the empirical accuracy of the trained network as we "
    "vary the number "
    "of points composing the orbits"
)
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
    """The claims of Sec. 3.4 on several classes, measurements, and exact regression beside the rule."""
    table = tables["accuracy"]
    curves = {method: mean_accuracy(table, method) for method in sorted(table["method"].unique())}
    trained, rule = curves["trained"], curves["rule"]
    fitted = float(curves["trained, on training points"]["mean"].min())
    claims = [_matches(rule, trained, "the rule")]
    return [
        *claims,
        same_conclusions(claims, [_matches(curves["rule, NNGP"], trained, "the rule")], "ten classes"),
        Claim.not_testable(
            "Networks have no mechanism to learn the symmetric structure of a problem from examples.",
            "Sec. 3.4",
            "No experiment can show that there is no mechanism; that accuracy follows local structure "
            "is judged.",
            quote="no specific mechanism allows such networks to “grok” (learn from examples) the non-local, "
            "symmetric structure of a prediction problem",
        ),
        *(
            Claim.quantified(
                f"Accuracy on left-out upright digits: {name}.",
                SOURCE,
                _curve(curves[method]),
                quote=MATCHES,
                uncertainty=f"± one standard error over {table['trial'].nunique()} data sets",
                why=f"Least accuracy on the points networks were trained on: {fitted:.3f}."
                if method == "trained"
                else "",
            )
            for method, name in (("trained", "trained networks"), ("rule", "the paper's rule"))
        ),
        Claim.quantified(
            "Largest difference of the rule's accuracy from that of trained networks.",
            SOURCE,
            float((rule["mean"] - trained["mean"]).abs().max()),
            quote=MATCHES,
        ),
        Claim.quantified(
            "Angles needed until half of the left-out digits are right: the rule against trained networks.",
            SOURCE,
            f"{_half(rule)} against {_half(trained)}",
            quote=MATCHES,
        ),
        Claim.beyond(
            "Accuracy of exact kernel regression over all points.",
            _curve(curves["regression"]),
            why=f"Half of the left-out digits are right from {_half(curves['regression'])} angles on.",
        ),
        Claim.quantified(
            "Accuracy of exact regression with the NNGP kernel.",
            "Sec. 2",
            _curve(curves["regression, NNGP"]),
            quote=NNGP,
            why="Largest difference from regression with the NTK: "
            f"{(curves['regression, NNGP']['mean'] - curves['regression']['mean']).abs().max():.2g}.",
        ),
        _exact(tables["agreement"]),
        Claim.beyond(
            "Largest difference of the accuracies of the group form and of regression over all points.",
            float((curves["group form"]["mean"] - curves["regression"]["mean"]).abs().max()),
            expected="near 0: rotating pixels is not exactly a group action",
        ),
    ]


def _matches(rule: pd.DataFrame, trained: pd.DataFrame, name: str) -> Claim:
    statement = f"The accuracy of {name} rises with the number of angles where that of trained networks does."
    if len(trained) < 3:
        return Claim.not_checked(statement, SOURCE, "needs three numbers of angles", quote=MATCHES)
    rho = float(rule["mean"].corr(trained["mean"], method="spearman"))
    ends = [curve["mean"].iloc[-1] > curve["mean"].iloc[0] for curve in (rule, trained)]
    return Claim.from_check(
        statement,
        SOURCE,
        rho > 0 and all(ends),
        measured=rho,
        threshold="both higher at the end; Spearman's rho of the two curves > 0",
        quote=MATCHES,
        reading="Qualitatively: the same direction as the number of angles grows; the paper gives no number.",
        uncertainty=f"over {len(trained)} numbers of angles",
    )


def _curve(curve: pd.DataFrame) -> str:
    return ", ".join(f"{row.mean_:.2f} ± {row.error:.2f} at n = {row.angles}" for row in _named(curve))


def _named(curve: pd.DataFrame) -> list[Any]:
    return list(curve.rename(columns={"mean": "mean_"}).itertuples())


def _half(curve: pd.DataFrame) -> str:
    where = half_way(curve["angles"].tolist(), curve["mean"].tolist())
    return "none of these" if where is None else f"{2**where:.1f}"


def _exact(agreement: pd.DataFrame) -> Claim:
    own = agreement[agreement["angles"].isin(EXACT_ANGLES)]
    return Claim.beyond(
        "Largest difference of a prediction of the group form from regression over all points (2 and 4 "
        "angles).",
        "no such number of angles" if own.empty else float(own["largest_difference"].max()),
        expected="0 to rounding: there rotations are exact",
        uncertainty=f"over {len(own)} problems",
    )
