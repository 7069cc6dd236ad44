"""Claims of `linear/decay`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.linear.decay.config import Decay
from symscope_papers.linear.training import STRAIGHT


def judge_claims(config: Decay, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    runs = tables["runs"]
    error = (runs["fitted_rate"] / runs["eigenvalue"] - 1).abs()
    return [
        Claim.at_most(
            "The asymmetric part decays exponentially from every start.",
            "Theorem 3.3.3, Fig. 1a",
            float((1 - runs["straightness"]).max()),
            STRAIGHT,
            quote="w_k will exponentially decay, regardless of the initial weights",
            why=f"Share of the logarithm's variance that is not on a straight line, the worst of {len(runs)} "
            "runs, down to rounding: zero for an exponential.",
        ),
        Claim.at_most(
            "The closed form of Eq. 3 is the integrated flow.",
            "Theorem 3.3.1, Eq. 3",
            float(runs["flow_against_integration"].max()),
            1e-9,
            quote="The weights over time are:",
            why="Largest difference of a weight from a Runge-Kutta solution of order 8: zero to its error.",
        ),
        Claim.at_most(
            "The limit of training is invariant.",
            "Corollary 3.4",
            float(runs["limit_asymmetry"].max()),
            1e-12,
            quote="will be invariant to the symmetry",
            why="Asymmetry loss of the limit, the worst run: zero to rounding.",
        ),
        Claim.quantified(
            "The asymmetry loss at the end of training, as a fraction of the start; the decay is exponential "
            "down to there, or to rounding.",
            "Fig. 1a",
            float(runs["final_asymmetry"].max()),
            quote="decaying exponentially until the gradient flow assumption breaks down",
            why="The worst run. A finite learning rate changes the rate of full-batch descent, not its "
            "shape: what ends the decay here is rounding. The paper states neither batches nor precision.",
        ),
        Claim.quantified(
            "Relative difference between the fitted rate and K_G's eigenvalue on the asymmetric weights.",
            "Theorem 3.3.3",
            float(error.max()),
            quote="w_k will exponentially decay",
            why="The worst run. Gradient descent is faster than the flow by half of the learning rate times "
            "the eigenvalue.",
        ),
        Claim.beyond(
            "Largest difference of a weight between Eq. 3 with (I - ηK)^k for the exponential and "
            "torch.optim.SGD, over all recorded epochs.",
            float(runs["descent_against_training"].max()),
            expected="0 to rounding",
        ),
    ]
