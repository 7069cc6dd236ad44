"""Claims of `linear/kernelised`."""

from __future__ import annotations

from typing import Any

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.linear.kernelised.config import TABLE, Kernelised

OPEN = "The paper does not state its activation, initialisation and number of points."


def judge_claims(config: Kernelised, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    largest = max(config.points)
    table = tables["errors"]
    table = table[table["points"] == largest]
    groups = table.groupby(["features", "element"])
    means: Any = groups.mean(numeric_only=True)
    errors: Any = groups.sem(numeric_only=True)
    products = tables["compositions"].loc[tables["compositions"]["points"] == largest]
    composed = (products["without"] / products["product_error"]).groupby(products["features"]).mean()
    sample = f"{config.networks} networks, {largest} points"
    return [
        _reduction_claim(means, errors, sample),
        _norm_claim(table, "without", 0, sample),
        _norm_claim(table, "with", 1, sample),
        Claim.not_testable(
            "The theorems hold for the linearised network.",
            "App. F.1",
            "The theorems are exact and the action on features is not; how good an approximation they "
            "need is not stated. What the linearised network does is in linear/lazy and linear/wide.",
            quote="the theorems from the previous section hold for the linearized network",
        ),
        Claim.quantified(
            "Norms without the matrix, divided by the number of hidden units, over the paper's.",
            "Table 1",
            _over_paper(means, "without", 0, config.width),
            quote="Absolute values represent L_2 norms",
            why="A unit of the paper's numbers that would fit those without the matrix; with it: "
            f"{_over_paper(means, 'with', 1, config.width)}.",
        ),
        Claim.quantified(
            "Error with the matrix relative to the size of the features, on new points, the worst case.",
            "App. F.1",
            float(means["new_relative"].max()),
            quote="approximately translates to the kernelized features",
            why=f"Means over {sample}.",
        ),
        Claim.beyond(
            "Reduction of the error on points the matrix was not fitted to, the least.",
            float(means["new_reduction"].min()),
            why=f"{config.held_out} new points: {_listed(means, errors, 'new_reduction')}.",
        ),
        Claim.beyond(
            "Reduction of the error by the product of two fitted matrices, the least mean over networks.",
            float(composed.min()),
            expected="that of one matrix, if the matrices compose as the group does",
        ),
    ]


def _reduction_claim(means: Any, errors: Any, sample: str) -> Claim:
    low, high = float(means["reduction"].min()), float(means["reduction"].max())
    statement = "The matrix reduces the error by a factor of 5 to 20."
    quote = "reduces the error by factors of 5-20 relative to the baselines"
    listed = _listed(means, errors, "reduction")
    why = (
        f"Means over {sample}, ± one standard error: {listed}. The paper's table has 4.6, 13, 17, 19. {OPEN}"
    )
    measured = f"{low:.3g} to {high:.3g}"
    if low >= 5 and high <= 20:
        return Claim.from_check(
            statement, "Table 1", True, measured=measured, threshold="5 to 20", quote=quote, why=why
        )
    return Claim.number_differs(
        statement, "Table 1", measured=measured, stated="factors of 5-20", quote=quote, why=why
    )


def _norm_claim(table: pd.DataFrame, column: str, place: int, sample: str) -> Claim:
    """The paper's four numbers; they hold if each is within what networks of ours give."""
    ranges: Any = table.groupby(["features", "element"])[column].agg(["min", "mean", "max", "sem"])
    good = all(
        ranges.loc[key, "min"] <= paper[place] <= ranges.loc[key, "max"] for key, paper in TABLE.items()
    )
    statement = f"Mean L2 norms {column} the matrix are those of the table."
    stated = ", ".join(f"{paper[place]:.1e}" for paper in TABLE.values())
    measured = ", ".join(f"{ranges.loc[key, 'mean']:.2g} ± {ranges.loc[key, 'sem']:.1g}" for key in TABLE)
    quote = "Absolute values represent L_2 norms"
    why = f"Means over {sample}, ± one standard error, in the order of the table: gradients, then "
    why += f"activations. {OPEN}"
    if good:
        threshold = f"{stated}, within the range over networks"
        return Claim.from_check(
            statement, "Table 1", True, measured=measured, threshold=threshold, quote=quote, why=why
        )
    return Claim.number_differs(statement, "Table 1", measured=measured, stated=stated, quote=quote, why=why)


def _over_paper(means: Any, column: str, place: int, width: int) -> str:
    ratios = [means.loc[key, column] / width / paper[place] for key, paper in TABLE.items()]
    return f"{min(ratios):.2g} to {max(ratios):.2g}"


def _listed(means: Any, errors: Any, column: str) -> str:
    return ", ".join(
        f"{' '.join(key)}: {means.loc[key, column]:.3g} ± {errors.loc[key, column]:.2g}" for key in TABLE
    )
