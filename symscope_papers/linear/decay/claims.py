"""Claims of `linear/decay`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.linear.decay.config import Decay


def judge_claims(config: Decay, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    runs = tables["runs"]
    error = (runs["fitted_rate"] / runs["eigenvalue"] - 1).abs().max()
    return [
        Claim.at_least(
            "The asymmetry loss falls exponentially.",
            "Fig. 1a, Theorem 3.3.3",
            float(runs["straightness"].min()),
            0.999,
            why="R² of a straight line through its logarithm, the worst run; the threshold is ours.",
        ),
        Claim.at_most(
            "It falls at the rate of the eigenvalue of K_G on the asymmetric weights.",
            "Theorem 3.3.3",
            float(error),
            0.01,
            why="Relative, the worst run. Gradient descent itself is faster than the flow by half of the "
            "learning rate times the eigenvalue.",
        ),
        Claim.at_most(
            "The closed form of Eq. 3 is the integrated flow.",
            "Eq. 3",
            float(runs["flow_against_integration"].max()),
            1e-9,
            why="Largest difference of a weight from a Runge-Kutta solution of order 8.",
        ),
        Claim.at_most(
            "With (I - ηK)^k for the exponential it is gradient descent itself.",
            "Eq. 3, Assumption 2",
            float(runs["descent_against_training"].max()),
            1e-9,
            why="Largest difference of a weight from torch.optim.SGD, over all recorded epochs.",
        ),
        Claim.at_most(
            "Every run ends invariant.",
            "Corollary 3.4",
            float(runs["limit_asymmetry"].max()),
            1e-12,
            why="Asymmetry loss of the limit; training itself ended at "
            f"{runs['final_asymmetry'].max():.2g} of the start, or less. The threshold is ours.",
        ),
    ]
