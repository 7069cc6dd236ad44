"""Claims of `linear/decoupling`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.linear.decoupling.config import Decoupling
from symscope_papers.linear.training import run_spread


def judge_claims(config: Decoupling, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    claims = []
    for kind, other, figure in (
        ("asymmetric", "symmetric", "Fig. 1b"),
        ("symmetric", "asymmetric", "Fig. 1c"),
    ):
        apart = run_spread(tables["paths"], kind, [other])
        claims.append(
            Claim.at_most(
                f"Runs that start with the same {kind} weights keep them the same, whatever the {other} "
                "ones do.",
                f"Theorem 3.3.2, {figure}",
                run_spread(tables["paths"], kind, [kind]),
                1e-12,
                quote="the value of one does not affect the dynamics of the other",
                why=f"Largest difference between two of {config.runs} runs, over all epochs: zero to "
                f"rounding. Their {other} weights differ by up to {apart:.2g}.",
            )
        )
    return claims
