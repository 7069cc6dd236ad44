"""Claims of `linear/kernelised`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symscope.runs import Claim, RunTables
from symscope_papers.linear.kernelised.config import TABLE, Kernelised


def _means(tables: RunTables, points: int) -> dict[Any, dict[str, float]]:
    """Means over networks: of each kind of features and each element, every column."""
    table = tables["errors"]
    means = table[table["points"] == points].groupby(["features", "element"]).mean(numeric_only=True)
    return means.to_dict("index")  # type: ignore[return-value]


def _listed(means: Mapping[Any, Mapping[str, float]], column: str, scale: float | int = 1) -> str:
    return ", ".join(f"{f} {e}: {means[f, e][column] / scale:.3g}" for f, e in TABLE)


def judge_claims(config: Kernelised, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    largest = max(config.points)
    means = _means(tables, largest)
    sample = f"Means over {config.networks} networks, {largest} points."
    reductions = [means[key]["reduction"] for key in TABLE]
    fresh = [means[key]["new_reduction"] for key in TABLE]
    products = tables["compositions"].loc[tables["compositions"]["points"] == largest]
    kept = float((products["without"] / products["product_error"]).groupby(products["features"]).mean().min())
    return [
        Claim.at_least(
            "Moving features by the fitted matrix makes the error at least 5 times smaller, for both kinds "
            "of features and both elements.",
            "Table 1",
            min(reductions),
            5,
            why=f"{sample} Reductions: {_listed(means, 'reduction')}; the paper's are 4.6, 13, 17, 19.",
        ),
        Claim.from_check(
            "The reduction is by a factor of 5 to 20.",
            "Table 1",
            min(reductions) >= 5 and max(reductions) <= 20,
            measured=f"{min(reductions):.3g} to {max(reductions):.3g}",
            threshold="5 to 20",
            why="Above 20 the matrices are better than the paper says, not worse.",
        ),
        Claim.at_least(
            "The matrix is as good on points it was not fitted to.",
            "beyond the paper",
            min(fresh),
            5,
            why=f"{config.held_out} new points: {_listed(means, 'new_reduction')}.",
        ),
        *_norm_claims(config, means, sample),
        Claim.at_least(
            "The fitted matrices nearly compose as the group does: the product of two still reduces the "
            "error twice or more.",
            "beyond the paper",
            kept,
            2,
            why="Threshold is ours.",
        ),
        Claim.at_most(
            "The error with the matrix relative to the features is below a tenth.",
            "App. F.1",
            max(mean["new_relative"] for mean in means.values()),
            0.1,
            why="The paper says the action 'approximately translates'; the threshold is ours.",
        ),
    ]


def _norm_claims(config: Kernelised, means: Mapping[Any, Mapping[str, float]], sample: str) -> list[Claim]:
    """The paper's numbers themselves, in two readings of their unit."""
    literal = [means[key]["without"] / paper[0] for key, paper in TABLE.items()]
    without = [ratio / config.width for ratio in literal]
    given = [means[key]["with"] / config.width / paper[1] for key, paper in TABLE.items()]
    return [
        _within(
            "Without the matrix the L2 norms are 1.1e-2, 1.3e-2, 1.4e-2, 1.5e-2.",
            literal,
            f"{sample} Norms: {_listed(means, 'without')}.",
        ),
        _within(
            "Without the matrix, norms divided by the number of hidden units are the paper's.",
            without,
            f"A reading of the paper's unit that we chose because it fits. "
            f"{_listed(means, 'without', config.width)}.",
        ),
        _within(
            "With the matrix, norms divided by the number of hidden units are the paper's 2.4e-3, 1.0e-3, "
            "8.1e-4, 8.1e-4.",
            given,
            f"{_listed(means, 'with', config.width)}.",
        ),
    ]


def _within(statement: str, ratios: list[float], why: str) -> Claim:
    """Within a factor 1.5 of the paper's numbers; the factor is ours."""
    worst = max(max(r, 1 / r) for r in ratios)
    return Claim.from_check(
        statement,
        "Table 1",
        worst <= 1.5,
        measured=f"{min(ratios):.3g} to {max(ratios):.3g} times the paper's",
        threshold="within a factor 1.5",
        why=f"{why} The factor is ours.",
    )
