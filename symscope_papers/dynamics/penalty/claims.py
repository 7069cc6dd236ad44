"""Claims of `dynamics/penalty`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.dynamics.penalty.config import Penalty

AGREEMENT = 0.02  # ours: the bisected penalty within two hundredths of the eigenvalue's
STILL = 1e-6  # what a deviation of 1e-7 may move the equivariant part, relative


def judge_claims(config: Penalty, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    table = tables["penalties"]
    unstable = table[table["verdict"] == "unstable"]
    gap = (unstable["measured"] / unstable["predicted"] - 1).abs().max()
    resolution = 3 / 2 ** (config.bisections + 1)
    paths = tables["paths"]
    # whether the distance grows at the end, when what is stable anyway has gone
    runs = paths.groupby(["group", "problem", "multiple"])["distance"]
    ends = runs.agg(before=lambda d: d.iloc[-2], last="last").reset_index()
    left = ends["last"] > ends["before"]
    wrong = int((left != (ends["multiple"] < 1)).sum())
    weak = paths[paths["multiple"] > 1]
    return [
        Claim.at_most(
            "The smallest stabilising penalty is minus half the lowest eigenvalue of Hess R_aug on E_perp.",
            "Sec. 6, beyond the paper",
            float(gap),
            AGREEMENT + resolution,
            why=f"Largest relative difference of {len(unstable)} unstable points of {len(table)}; bisection "
            f"resolves {resolution:.2g}; threshold is ours.",
        ),
        Claim.from_check(
            "A penalty on E_perp stabilises E: below the smallest one training leaves E, above it returns.",
            "Sec. 6",
            wrong == 0,
            measured=f"{len(ends) - wrong} of {len(ends)} trainings as predicted",
            threshold="all",
        ),
        Claim.at_most(
            "With a sufficient penalty the equivariant part stays where it was.",
            "Sec. 6",
            float(weak["equivariant_change"].max()),
            STILL,
            why="Relative change of A_E at an equivariant stationary point: the penalty acts outside E.",
        ),
    ]
