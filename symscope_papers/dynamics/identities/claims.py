"""Claims of `dynamics/identities`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.dynamics.identities.config import ROUNDING, Identities
from symscope_papers.dynamics.identities.statements import IDENTITIES


def judge_claims(config: Identities, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    table, gaps = tables["identities"], tables["feature_averaging"]["gap"]
    worst = table.groupby("identity", sort=False)["error"].max()
    seen = f"Largest relative error over {len(gaps)} random networks of {table['group'].nunique()} groups."
    claims = [
        Claim.at_most(statement, name, float(worst[name]), ROUNDING, why=seen)
        for name, (statement, _) in IDENTITIES.items()
    ]
    claims.append(
        Claim.at_most(
            "Feature averaging has the augmented risk for every A, Eq. 3 as printed.",
            "Remark 1, Eq. 3",
            float(gaps.abs().max()),
            ROUNDING,
            why="Off E the two differ for losses that are not linear: Jensen's inequality makes an "
            "equality of averages a bound. The relative difference is shown.",
        )
    )
    claims.append(
        Claim.at_most(
            "Feature averaging has at most the augmented risk (convex losses, Jensen).",
            "beyond the paper",
            float((-gaps).max()),
            ROUNDING,
            why="Largest excess of the feature-averaged risk over the augmented one; negative when there is "
            "none.",
        )
    )
    return claims
