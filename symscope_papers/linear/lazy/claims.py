"""Claims of `linear/lazy`."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.linear.lazy.config import INDUCED, PLAIN, Lazy


def judge_claims(config: Lazy, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    ends = tables["ends"]
    means: Any = ends.groupby("alpha").mean(numeric_only=True).to_dict("index")
    scaled = [alpha for alpha in config.alphas if alpha != PLAIN]
    laziest, before = scaled[-1], scaled[-2]
    return [
        *_induced_claims(config, means, scaled),
        Claim.at_least(
            "The asymmetry does not decay either: at the end of the laziest training it is not ten times "
            "below its peak.",
            "App. H",
            float(means[laziest]["asymmetry"] / means[laziest]["peak"]),
            0.1,
            why="A lazy network starts at zero, which is invariant; training makes it asymmetric. "
            "Threshold is ours.",
        ),
        Claim.at_least(
            "Lazier is not more invariant: the laziest training keeps half the asymmetry of alpha = "
            f"{scaled[0]:g} or more.",
            "App. H",
            float(means[laziest]["asymmetry"] / means[scaled[0]]["asymmetry"]),
            0.5,
            why="Threshold is ours.",
        ),
        *_regime_claims(ends, means, before, laziest),
        Claim.at_least(
            "Not even endless training of the linearised network makes it invariant.",
            "beyond the paper",
            float(means[laziest]["limit"]),
            INDUCED,
            why="The closed form at infinite time, mean over networks. Threshold is ours.",
        ),
    ]


def _induced_claims(config: Lazy, means: Any, scaled: list[float]) -> list[Claim]:
    """Whether invariance was induced, as it was decided before the first run and after it."""
    listed = ", ".join(
        f"{'ordinary' if a == PLAIN else f'alpha {a:g}'}: {means[a]['asymmetry']:.3g}" for a in config.alphas
    )
    setting = (
        f"Means over {config.networks} networks after {config.steps} steps, in units of the target's spread"
    )
    return [
        Claim.at_least(
            "Lazy training does not induce invariance: the laziest network's asymmetry stays above a "
            "hundredth of the target's spread.",
            "App. H",
            float(means[scaled[-1]]["asymmetry"]),
            INDUCED,
            why=f"{setting}: {listed}. Threshold is ours. That it is the laziest network which counts was "
            "decided after the first run; before, it was the least asymmetry over all alphas, which is the "
            "next claim.",
        ),
        Claim.at_least(
            "No scale induces invariance: the least asymmetry over all alphas stays above a hundredth of the "
            "target's spread.",
            "App. H",
            min(float(means[alpha]["asymmetry"]) for alpha in scaled),
            INDUCED,
            why="Small alphas are not lazy: features move and may learn the symmetry. Threshold is ours.",
        ),
    ]


def _regime_claims(ends: pd.DataFrame, means: Any, before: float, laziest: float) -> list[Claim]:
    """Whether the training was lazy at all."""
    slope = math.log(means[laziest]["weight_change"] / means[before]["weight_change"])
    slope /= math.log(laziest / before)
    lazy = ends[ends["alpha"] == laziest]
    gaps = (lazy["asymmetry"] / lazy["theory"] - 1).abs()
    switched = lazy["switched"]
    return [
        Claim.from_check(
            "The lazy regime is reached: the weights move like one over alpha.",
            "App. H",
            abs(slope + 1) <= 0.05,
            measured=f"exponent {slope:.3f}",
            threshold="-1 within 0.05",
            why=f"Between alpha {before:g} and {laziest:g}; at the latter weights moved by "
            f"{means[laziest]['weight_change']:.2g}, the kernel by "
            f"{means[laziest]['kernel_change']:.2g}. Threshold is ours.",
        ),
        Claim.at_most(
            "The laziest network's asymmetry is that of the linearised network.",
            "App. F",
            float(gaps.max()),
            0.01,
            why=f"Largest relative difference over networks; median {gaps.median():.2g}. In the worst one "
            f"{switched.iloc[int(gaps.argmax())]:.0f} pairs of a point and a hidden unit changed sides of "
            f"their ReLU, in the median network {switched.median():.0f}. Threshold is ours.",
        ),
    ]
