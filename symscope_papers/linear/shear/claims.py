"""Claims of `linear/shear`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.linear.shear.config import Shear


def judge_claims(config: Shear, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    groups = tables["groups"]
    sheared, straight = groups[groups["shear"] > 0], groups[groups["shear"] == 0]
    detected = int((~sheared["transposes"].astype(bool)).sum())
    return [
        Claim.from_check(
            "Missing transposes are detected, and only where they are missing.",
            "App. A",
            detected == len(sheared) and bool(straight["transposes"].astype(bool).all()),
            measured=f"{detected} of {len(sheared)} sheared groups reported; the unsheared one "
            + ("holds" if bool(straight["transposes"].astype(bool).all()) else "reported too"),
            threshold="all sheared groups, and not the unsheared one",
        ),
        Claim.at_least(
            "Without transposes the symmetric part drives the asymmetric one.",
            "App. A",
            float(sheared["drift"].min()),
            1e-3,
            why="Largest distance between the asymmetric weights of two runs that start with the same "
            "ones and symmetric parts one apart, the least over all sheared groups; the threshold is "
            f"ours. Coupling: {100 * sheared['coupling'].min():.2g} to "
            f"{100 * sheared['coupling'].max():.2g} % of the fastest rate.",
        ),
        Claim.at_most(
            "With transposes it does not.",
            "Theorem 3.3.2",
            float(straight["drift"].max()),
            1e-12,
        ),
        Claim.at_most(
            "Training ends invariant all the same.",
            "beyond the paper",
            float(groups["limit_asymmetry"].max()),
            1e-9,
            why="Asymmetry loss of the limit, the worst group; the threshold is ours. The loss does not "
            "change under the group, so its only minimum is invariant; this needs no transposes, only "
            "K_G positive definite.",
        ),
    ]
