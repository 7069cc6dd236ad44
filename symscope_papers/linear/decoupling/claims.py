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
        claims += [
            Claim.at_most(
                f"Runs that start with the same {kind} weights keep them the same, whatever the {other} "
                "ones do.",
                f"{figure}, Theorem 3.3.2",
                run_spread(tables["paths"], kind, [kind]),
                1e-12,
                why=f"Largest difference between two of {config.runs} runs, over all epochs.",
            ),
            Claim.at_least(
                f"Their {other} weights did differ.",
                figure,
                run_spread(tables["paths"], kind, [other]),
                0.1,
                why="Otherwise the first statement would say nothing; the threshold is ours.",
            ),
        ]
    return claims
