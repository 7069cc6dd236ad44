"""What App. A.1 states of several missing points."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.missing.config import Missing

ROUNDING = 1e-8  # of two ways to solve one linear system


def judge_claims(config: Missing, tables: RunTables) -> list[Claim]:
    """The claims of App. A.1, on circles and on pairs of digits."""
    table = tables["patterns"]
    claims = [
        Claim.at_most(
            "The linear system over the missing points gives the residuals of kernel regression.",
            "App. A.1, Eq. 60",
            float(table["difference"].max()),
            ROUNDING,
            quote="In the case of multiple missing points, we can find an equivalent of Eq. 58",
            reading="An equality for circulant kernels, to rounding.",
            why=f"Largest difference over {len(table)} patterns of up to {table['missing'].max()} missing "
            "points; pairs of digits with their circularised kernel.",
        )
    ]
    single = table[table["missing"] == 1]
    if len(single):
        gap = (single["mean_error"] - single["spectral_error"]).abs().max()
        claims.append(
            Claim.at_most(
                "With one missing point it is the spectral error of Eq. 7.",
                "App. A.1",
                float(gap),
                ROUNDING,
                quote="this formula recovers the expression in Eq. 58",
                reading="An equality, to rounding.",
            )
        )
    digits = table[table["data"] == "digits"]
    for count, part in digits.groupby("missing"):
        claims.append(
            Claim.quantified(
                f"Pairs of digits, {config.points} angles, MLP, {count} missing points: Pearson's r "
                "between mean "
                "errors by the formula and by regression with the kernel itself.",
                "Sec. 3.2",
                float(part["mean_error"].corr(part["kernel_error"])),
                quote="this formula can be easily extended to multiple missing points",
                uncertainty=f"over {len(part)} pairs and patterns; mean difference "
                f"{(part['mean_error'] - part['kernel_error']).abs().mean():.2g}",
            )
        )
    return claims
