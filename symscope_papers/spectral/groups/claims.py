"""What is claimed of the exact group form, case by case."""

from __future__ import annotations

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.groups.config import Groups
from symscope_papers.spectral.groups.problems import INVARIANT, case_title


def judge_claims(config: Groups, tables: RunTables) -> list[Claim]:
    """Exact form against dense, case by case; networks that are invariant; shares against slopes."""
    errors, irreps, cases = tables["errors"], tables["irreps"], tables["cases"].set_index("case")
    claims = []
    for case in config.cases:
        part, row = errors[errors["case"] == case], cases.loc[case]
        claims.append(
            Claim.beyond(
                f"{row['group']}, {case_title(case)}: largest difference of a residual of the exact "
                "group form from "
                "dense regression.",
                float(part["difference"].max()),
                expected="0 to rounding; an NTK's angles of equal windows are known to 2e-8",
                why=f"{len(part)} residuals of {part['set'].nunique()} missing sets, {row['points']} points; "
                f"{100 * row['accuracy']:.0f} % of single missing points right; irreps that limit it: "
                f"{row['limiting']}. {row['explanation']}".strip(),
            )
        )
    knowing = [case for case in config.cases if case in INVARIANT]
    if knowing:
        part = errors[errors["case"].isin(knowing)]
        seen = irreps[irreps["case"].isin(knowing) & ~irreps["trivial"]]
        claims.append(
            Claim.beyond(
                "Networks that pool over the group: non-trivial irreps they do not see, and their "
                "largest error.",
                f"{seen['unseen'].sum()} of {len(seen)} irreps unseen, largest error "
                f"{part['error'].abs().max():g}",
                expected="all irreps unseen, error 0",
            )
        )
    sloped = irreps[irreps["slope"].notna()]
    if len(sloped):
        claims.append(_slope_claim(sloped))
    return claims


def _slope_claim(sloped: pd.DataFrame) -> Claim:
    return Claim.beyond(
        "Largest difference of an irrep's share from the slope of the log error in the kernel's "
        "strength there.",
        float((sloped["slope"] - sloped["share"]).abs().max()),
        expected="0 to the square of the step, 1e-8",
        uncertainty=f"over {len(sloped)} irreps",
        why="Slopes by dense regression with the kernel changed by 0.01 % on one irrep.",
    )
