"""Claims of `linear/few-points`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.linear.few_points.config import FewPoints


def judge_claims(config: FewPoints, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    samples = tables["samples"]
    clean = samples[samples["sigma"] == 0]
    noisy = samples[samples["sigma"] > 0]
    straight, slope = clean["straightness"], (clean["fitted_rate"] / clean["slow_eigenvalue"] - 1).abs()
    claims = [
        Claim.at_most(
            f"With {config.points} points and orbits not completed the asymmetry loss still falls "
            "exponentially.",
            "Fig. 2",
            float(clean["over_bound"].max()),
            1.0,
            quote="The asymmetry loss exponentially decreases also in this case.",
            reading="At no time above an exponential. Chosen after a first run: read as one straight line "
            "on a logarithmic axis it is not so for every sample (see the R² below).",
            why="Largest ratio to the exponential with the smaller eigenvalue of X^T X as its rate, over "
            f"all epochs and {len(clean)} samples, down to rounding.",
        ),
        Claim.at_most(
            "The limit of training is invariant though the data show the symmetry on average only.",
            "App. D",
            float(clean["floor"].max()),
            1e-9,
            quote="these results hold when the symmetry is encoded in the data only on average",
            reading="Labels x + y without noise, as in Fig. 2: they are linear in the features, so any two "
            "independent points fix the invariant solution. With noisy labels the limit is not invariant.",
            why="Asymmetry of the limit over that of the start, the worst sample: zero to rounding. Training "
            f"ended at {clean['final_asymmetry'].max():.2g}.",
        ),
        Claim.quantified(
            "R² of a straight line through the logarithm of the asymmetry loss, the worst sample.",
            "Fig. 2",
            float(straight.min()),
            quote="The asymmetry loss exponentially decreases also in this case.",
            uncertainty=f"(median {straight.median():.4f})",
            why=f"The parts are coupled here, by {100 * clean['coupling'].median():.2g} % of the fastest "
            "rate in the median: Eq. 1 gives a sum of two exponentials, one for each eigenvalue of X^T X. "
            "Where their signs differ the loss bends and may pass through zero.",
        ),
        Claim.beyond(
            "Relative difference between the slope of that line and the smaller eigenvalue of X^T X, the "
            "worst sample.",
            float(slope.max()),
            expected="0 where one exponential is left",
            uncertainty=f"(median {slope.median():.2g})",
        ),
        Claim.beyond(
            "Largest difference of a weight between Eq. 1 with (I - ηK)^k for the exponential and "
            "torch.optim.SGD, over all epochs and samples.",
            float(samples["descent_against_training"].max()),
            expected="0 to rounding",
        ),
    ]
    if len(noisy):
        gap = (noisy["final_asymmetry"] / noisy["floor"] - 1).abs().max()
        levels = noisy.groupby("sigma")["floor"].median()
        claims.append(
            Claim.beyond(
                "With label noise: relative difference between the asymmetry at the end of training and that "
                "of the sample's least-squares solution, the worst sample.",
                float(gap),
                expected="0 once training has converged",
                why="Median asymmetry of that solution over the start: "
                + ", ".join(f"{level:.2g} at σ = {sigma:g}" for sigma, level in levels.items())
                + ".",
            )
        )
    return claims
