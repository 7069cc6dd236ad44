"""Claims of `linear/noise`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.linear.noise.config import Noise


def judge_claims(config: Noise, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    levels, paths = tables["levels"], tables["paths"]
    shared = paths[paths["noise"] == "orbit"].groupby("epoch")["asymmetric_weight"]
    error = (levels["fitted_rate"] / levels["eigenvalue"] - 1).abs()
    rates = levels["fitted_rate"]
    point = levels[(levels["noise"] == "point") & (levels["sigma"] > 0)]
    return [
        Claim.at_most(
            "The rate of decay does not depend on the noise.",
            "Fig. 3",
            float(rates.max() / rates.min() - 1),
            0.01,
            why=f"Largest over smallest fitted rate for σ from {min(config.sigmas):g} to "
            f"{max(config.sigmas):g}, both kinds of noise, of the distance of the asymmetric weight from "
            "its limit; the threshold is ours.",
        ),
        Claim.at_most(
            "It is the eigenvalue of K_G on the asymmetric weights.",
            "Theorem 3.3.3",
            float(error.max()),
            0.01,
            why="Relative, the worst level.",
        ),
        Claim.at_most(
            "Where an orbit shares its noise, the asymmetric weight does not notice it at all.",
            "Theorem 3.3.3",
            float((shared.max() - shared.min()).max()),
            1e-12,
            why="Largest difference between two noise levels, over all epochs: labels do not enter w_k.",
        ),
        Claim.at_most(
            "Where every point has its own noise, the decay ends at the asymmetry of the sample's own "
            "solution.",
            "beyond the paper",
            float((point["final_asymmetry"] / point["floor"] - 1).abs().max()),
            0.01,
            why="Relative, the worst level; the threshold is ours. Floors: "
            + ", ".join(f"{f:.2g} at σ = {s:g}" for s, f in zip(point["sigma"], point["floor"], strict=True))
            + f", from {point['first_asymmetry'].iloc[0]:.2g} at the start: a small noisy sample is not a "
            "symmetric one.",
        ),
    ]
