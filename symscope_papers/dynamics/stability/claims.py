"""Claims of `dynamics/stability`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.dynamics.stability.config import Stability

RATE = 0.01  # ours: predicted and measured growth within a hundredth of the largest curvature
LINEAR = 1e-3  # up to this |A_{E_perp}| the linear prediction is asked to hold
ROUNDING = 1e-13  # below this |A_{E_perp}| is rounding of layers of size 1
DRIFT = 0.01  # ours: predicted and measured drift within a hundredth
NOISE = 0.25  # ours: root mean square of some tens of random walks, all problems together, against theory
EXACT = 1e-8  # ours: nominal drift is about 1e-4 of the layers, rounding 1e-16


def judge_claims(config: Stability, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    return [*_growth_claims(config, tables), *_sampling_claims(config, tables)]


def _growth_claims(config: Stability, tables: RunTables) -> list[Claim]:
    rates, table, spectrum = tables["rates"], tables["drift"], tables["spectrum"]
    gap = ((rates["predicted"] - rates["measured"]).abs() / rates["largest"]).max()
    linear = table[(table["predicted"] <= LINEAR) & (table["predicted"] >= ROUNDING)]
    error = ((linear["predicted"] - linear["measured"]).abs() / linear["measured"]).max()
    decided = rates[(rates["end"] == "lowest") & (rates["verdict"] != "neutral")]
    right = (decided["measured"] > 0) == (decided["verdict"] == "unstable")
    last = spectrum[(spectrum["part"] == "outside") & (spectrum["time"] == spectrum["time"].max())]
    last = last[last["layers"] == 2]
    unstable = int((last["verdict"] == "unstable").sum())
    return [
        Claim.at_most(
            "Near E, |A_E_perp| grows at the rate given by the spectrum of Hess R_aug on E_perp.",
            "Sec. 4.2",
            float(gap),
            RATE,
            why=f"Largest difference of {len(rates)} rates, over the largest curvature; threshold is ours.",
        ),
        Claim.at_most(
            "The linear equation y' = -Hess R_aug(x) y along the equivariant flow gives the drift.",
            "Sec. 4.2",
            float(error),
            DRIFT,
            why=f"Largest relative difference at {len(linear)} of {len(table)} moments, those with "
            f"|A_E_perp| from {ROUNDING:g}, above rounding, to {LINEAR:g}; threshold is ours.",
        ),
        Claim.from_check(
            "The sign of the lowest eigenvalue says whether augmented training leaves E.",
            "beyond the paper",
            bool(right.all()),
            measured=f"{int(right.sum())} of {len(right)} right",
            threshold="all",
            why=f"{int((decided['verdict'] == 'unstable').sum())} unstable and "
            f"{int((decided['verdict'] == 'stable').sum())} stable moments; the stable ones are of networks "
            "of one layer, whose risk is convex.",
        ),
        Claim.from_check(
            "E is consistently unstable under augmented training (networks with a hidden layer).",
            "Sec. 5.1 (i)",
            unstable == len(last),
            measured=f"{unstable} of {len(last)} trained networks",
            threshold="all",
            why=f"Verdict on Hess R_aug at time {config.horizon:g}; the fastest growth rate left is "
            f"{-last['lowest'].max():.3g} to {-last['lowest'].min():.3g}.",
        ),
    ]


def _sampling_claims(config: Stability, tables: RunTables) -> list[Claim]:
    noise = tables["noise"]
    pooled = ((noise["sampled"] / noise["predicted"]) ** 2).groupby(noise["passes"]).mean() ** 0.5
    walk = (pooled - 1).abs().max()
    trainings = config.repeats * int((noise["passes"] == noise["passes"].iloc[0]).sum())
    return [
        Claim.at_most(
            "Averaged over all of the group, augmented descent stays in E to rounding.",
            "Cor. 1",
            float((noise["exact"] / noise["nominal"]).max()),
            EXACT,
            why=f"Drift of exact augmentation over that of nominal training after {config.steps} steps of "
            f"rate {config.rate:g}; both are small numbers found by subtracting layers of size 1.",
        ),
        Claim.at_most(
            "Over a short training, sampled augmentation drifts as a random walk: nominal drift over the "
            "root of steps times passes.",
            "beyond the paper",
            float(walk),
            NOISE,
            why="Largest relative difference from theory over numbers of passes, root mean square of "
            f"{trainings} trainings each; threshold is ours. Over times short against "
            "1/|lowest| drift is sampling noise, not instability.",
        ),
    ]
