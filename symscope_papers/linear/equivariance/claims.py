"""Claims of `linear/equivariance`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.linear.equivariance.config import ASYMMETRIC, SYMMETRIC, Equivariance
from symscope_papers.linear.training import STRAIGHT, run_spread


def judge_claims(config: Equivariance, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    runs = tables["runs"]
    error = max(
        float((runs[f"{n}_rate"] / runs[f"{n}_eigenvalue"] - 1).abs().max()) for n in ("slow", "fast")
    )
    straight = float(runs[["slow_straightness", "fast_straightness"]].min().min())
    claims = [
        Claim.at_most(
            "The asymmetric weights decay exponentially from every start.",
            "Theorem 4.2.3, Fig. 4a",
            1 - straight,
            STRAIGHT,
            quote="W_k will always decay exponentially over time, regardless of the initial weights",
            reading="Along each eigenvector of K_G; together they are a sum of two exponentials.",
            why="Share of the logarithm's variance that is not on a straight line, the worst run, down to "
            "rounding: zero for an exponential.",
        ),
        Claim.at_most(
            "The final weights commute with the group.",
            "Corollary 4.3",
            float(runs["limit_commutator"].max()),
            1e-12,
            quote="commutes with the group elements",
            why="Largest entry of Wg - gW in the limit: zero to rounding. Training ended at "
            f"{runs['final_asymmetry'].max():.2g} of the first asymmetry loss, or less.",
        ),
    ]
    for kind, mine, other, figure in (
        ("asymmetric", ASYMMETRIC, SYMMETRIC, "Fig. 4b"),
        ("symmetric", SYMMETRIC, ASYMMETRIC, "Fig. 4c"),
    ):
        claims.append(
            Claim.at_most(
                f"Runs that start with the same {kind} weights keep them the same, whatever the others do.",
                f"Theorem 4.2.2, {figure}",
                run_spread(tables["paths"], kind, mine),
                1e-12,
                quote="These two components are decoupled from one another.",
                why=f"Largest difference between two of {config.runs} runs, over all epochs: zero to "
                f"rounding. The other weights differ by up to "
                f"{run_spread(tables['paths'], kind, other):.2g}.",
            )
        )
    return [
        *claims,
        Claim.quantified(
            "Relative difference between the fitted rates and the eigenvalues of K_G.",
            "Theorem 4.2.3",
            error,
            quote="W_k will always decay exponentially over time",
            why="The worst run. Gradient descent is faster than the flow by half of the learning rate times "
            "the eigenvalue.",
        ),
        Claim.beyond(
            "Largest difference of a weight between Eq. 5 with (I - ηK)^k for the exponential and "
            "torch.optim.SGD, over all recorded epochs.",
            float(runs["descent_against_training"].max()),
            expected="0 to rounding",
        ),
    ]
