"""What App. A.1 claims of several missing points."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.missing.config import Missing


def judge_claims(config: Missing, tables: RunTables) -> list[Claim]:
    """The claims of App. A.1."""
    table = tables["patterns"]
    claims = [
        Claim.at_most(
            "The linear system over the missing points gives the residuals of kernel regression.",
            "App. A.1",
            float(table["difference"].max()),
            1e-8,
            why=f"Largest difference over {len(table)} patterns of up to {table['missing'].max()} "
            "missing points.",
        )
    ]
    single = table[table["missing"] == 1]
    if len(single):
        gap = (single["mean_error"] - single["spectral_error"]).abs().max()
        claims.append(
            Claim.at_most(
                "With one missing point it is the spectral error of Eq. 7.", "App. A.1", float(gap), 1e-8
            )
        )
    return claims
