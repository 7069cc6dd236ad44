"""Claims of `discovery/induced`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.discovery.induced.config import RULES, TOLERANCE, Induced


def judge_claims(config: Induced, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    cases = tables["cases"]
    claims = []
    for rule, statement in RULES.items():
        part = cases[(cases["rule"] == rule) & cases["should_hold"]]
        good = part["holds"] & part["holds_in_part"]
        words = f"{int(good.sum())} of {len(part)}; largest loss drift {part['drift'].max():.1e}"
        claims.append(
            Claim.from_check(
                statement,
                rule,
                bool(len(part)) and bool(good.all()),
                measured=words,
                threshold=f"all, drift <= {TOLERANCE:g} (ours)",
            )
        )
    control = cases[~cases["should_hold"]]
    statement = (
        "Without h, the features the part sees, a data-dependent symmetry does not carry over (control)."
    )
    if not len(control):
        return [*claims, Claim.not_checked(statement, "Prop. 4.1", "no such case in this run")]
    return [
        *claims,
        Claim.at_least(
            statement, "Prop. 4.1", float(control["drift"].min()), TOLERANCE, why="Smallest loss drift."
        ),
    ]
