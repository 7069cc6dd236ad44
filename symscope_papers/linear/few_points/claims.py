"""Claims of `linear/few-points`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.linear.few_points.config import FewPoints


def judge_claims(config: FewPoints, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    samples = tables["samples"]
    clean = samples[samples["sigma"] == 0]
    noisy = samples[samples["sigma"] > 0]
    coupled = f"{100 * clean['coupling'].median():.2g} % of the fastest rate"
    claims = [
        Claim.at_most(
            f"With {config.points} points and orbits not completed the asymmetry loss still falls "
            "exponentially.",
            "Fig. 2",
            float(clean["over_bound"].max()),
            1.0,
            why="Largest ratio to an exponential with the smaller eigenvalue of X^T X as its rate, over "
            f"all epochs and {len(clean)} samples, down to rounding. Chosen after the first run: the claim "
            "was first a straight line with that eigenvalue as its slope, which the next two keep.",
        ),
        Claim.at_least(
            "Its logarithm is one straight line, as with complete orbits.",
            "Fig. 2",
            float(clean["straightness"].min()),
            0.999,
            why=f"R², the worst sample; the threshold is ours. The parts are coupled here, by {coupled} "
            "in the median: the asymmetry is a sum of two exponentials, one for each eigenvalue of X^T "
            "X, and where their signs differ it bends and may pass through zero.",
        ),
        Claim.at_most(
            "The slope of that line is the smaller eigenvalue of X^T X.",
            "Eq. 1",
            float((clean["fitted_rate"] / clean["slow_eigenvalue"] - 1).abs().max()),
            0.01,
            why="Relative, the worst sample; the threshold is ours. In the median it is off by "
            f"{(clean['fitted_rate'] / clean['slow_eigenvalue'] - 1).abs().median():.2g}.",
        ),
        Claim.at_most(
            "The closed form of Eq. 1, with (I - ηK)^k for the exponential, gives the whole curve.",
            "Eq. 1",
            float(samples["descent_against_training"].max()),
            1e-9,
            why="Largest difference of a weight from torch.optim.SGD, over all epochs and samples.",
        ),
        Claim.at_most(
            "Without noise the sample sets no floor: the limit is invariant.",
            "Fig. 2",
            float(clean["floor"].max()),
            1e-9,
            why="Asymmetry of the limit over that of the start. x + y is linear in the features, so any "
            f"two independent points fix it. Training ended at {clean['final_asymmetry'].max():.2g}, the "
            "worst; the threshold is ours.",
        ),
    ]
    if len(noisy):
        gap = (noisy["final_asymmetry"] / noisy["floor"] - 1).abs().max()
        levels = noisy.groupby("sigma")["floor"].median()
        claims.append(
            Claim.at_most(
                "With label noise it falls to a floor, the asymmetry of the least-squares solution of "
                "the sample.",
                "beyond the paper",
                float(gap),
                0.01,
                why="Relative, the worst sample; the threshold is ours. Median floor over the start: "
                + ", ".join(f"{level:.2g} at σ = {sigma:g}" for sigma, level in levels.items())
                + ".",
            )
        )
    return claims
