"""Claims of `linear/equivariance`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.linear.equivariance.config import ASYMMETRIC, SYMMETRIC, Equivariance
from symscope_papers.linear.training import run_spread


def judge_claims(config: Equivariance, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    runs = tables["runs"]
    error = max(
        float((runs[f"{n}_rate"] / runs[f"{n}_eigenvalue"] - 1).abs().max()) for n in ("slow", "fast")
    )
    straight = float(runs[["slow_straightness", "fast_straightness"]].min().min())
    claims = [
        Claim.at_least(
            "The asymmetric weights decay exponentially.",
            "Fig. 4a, Theorem 4.2.3",
            straight,
            0.999,
            why="R² of straight lines through the logarithm of their size along each eigenvector of K_G, "
            "the worst run; the threshold is ours.",
        ),
        Claim.at_most(
            "They decay at the rates of the eigenvalues of K_G.",
            "Theorem 4.2.3",
            error,
            0.01,
            why="Relative, the worst run.",
        ),
        Claim.at_most(
            "Eq. 5, with (I - ηK)^k for the exponential, is gradient descent itself.",
            "Eq. 5",
            float(runs["descent_against_training"].max()),
            1e-9,
            why="Largest difference of a weight from torch.optim.SGD, over all recorded epochs.",
        ),
        Claim.at_most(
            "The final weights commute with the group.",
            "Corollary 4.3",
            float(runs["limit_commutator"].max()),
            1e-12,
            why="Largest entry of Wg - gW in the limit; training ended at "
            f"{runs['final_asymmetry'].max():.2g} of the first asymmetry loss, or less. The threshold is "
            "ours.",
        ),
    ]
    for kind, mine, other, figure in (
        ("asymmetric", ASYMMETRIC, SYMMETRIC, "Fig. 4b"),
        ("symmetric", SYMMETRIC, ASYMMETRIC, "Fig. 4c"),
    ):
        claims.append(
            Claim.at_most(
                f"Runs that start with the same {kind} weights keep them the same, whatever the others do.",
                f"{figure}, Theorem 4.2.2",
                run_spread(tables["paths"], kind, mine),
                1e-12,
                why=f"Largest difference between two of {config.runs} runs, over all epochs; the other "
                f"weights differ by up to {run_spread(tables['paths'], kind, other):.2g}.",
            )
        )
    return claims
