"""Claims of `linear/lazy`."""

from __future__ import annotations

import math
from typing import Any

from symscope.runs import Claim, RunTables
from symscope_papers.linear.lazy.config import PLAIN, Lazy

ROUNDING = 1e-9  # of the target's spread: a linear model trained on symmetric data ends far below


def judge_claims(config: Lazy, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    ends = tables["ends"]
    means: Any = ends.groupby("alpha").mean(numeric_only=True).to_dict("index")
    scaled = [alpha for alpha in config.alphas if alpha != PLAIN]
    laziest, before = scaled[-1], scaled[-2]
    lazy = ends[ends["alpha"] == laziest]
    gaps, switched = (lazy["asymmetry"] / lazy["theory"] - 1).abs(), lazy["switched"]
    slope = math.log(means[laziest]["weight_change"] / means[before]["weight_change"])
    slope /= math.log(laziest / before)
    follows = "a network barely deviates from its linearised version"
    listed = ", ".join(
        f"{'ordinary' if a == PLAIN else f'alpha {a:g}'}: {means[a]['asymmetry']:.3g}" for a in config.alphas
    )
    return [
        Claim.at_least(
            "Lazy training does not induce invariance.",
            "App. H",
            float(lazy["asymmetry"].min()),
            ROUNDING,
            quote="following their procedure did not induce learned invariance in practice",
            reading="Invariant as a linear model becomes, to rounding. The laziest networks count: small "
            "alphas are not lazy, their features move.",
            why=f"Asymmetry over the target's spread after {config.steps} steps, the least of "
            f"{len(lazy)} networks with alpha {laziest:g}.",
        ),
        Claim.not_testable(
            "Lazy training fails because the group's action is hard to find in narrow networks.",
            "App. H",
            "A conjecture: no measurement is named that would decide it.",
            quote="This may be because it is harder to find the group",
        ),
        Claim.quantified(
            "Asymmetry over the target's spread at the end of the laziest training, mean over networks.",
            "App. H",
            float(means[laziest]["asymmetry"]),
            quote="did not induce learned invariance in practice",
            uncertainty=f"± {lazy['asymmetry'].std():.2g} over networks",
            why=f"All: {listed}. A lazy network starts at zero, which is invariant; at the end it is at "
            f"{means[laziest]['asymmetry'] / means[laziest]['peak']:.2g} of its peak.",
        ),
        Claim.quantified(
            "Exponent with which the weights move less as alpha grows.",
            "App. H",
            slope,
            quote=follows,
            why=f"Between alpha {before:g} and {laziest:g}; lazy training has -1. At the latter weights "
            f"moved by {means[laziest]['weight_change']:.2g}, the kernel by "
            f"{means[laziest]['kernel_change']:.2g}.",
        ),
        Claim.quantified(
            "Relative difference between the laziest network's asymmetry and that of the linearised network, "
            "median over networks.",
            "App. H",
            float(gaps.median()),
            quote=follows,
            uncertainty=f"(largest {gaps.max():.2g})",
            why=f"In the worst network {switched.iloc[int(gaps.argmax())]:.0f} pairs of a point and a hidden "
            f"unit changed sides of their ReLU, in the median network {switched.median():.0f}.",
        ),
        Claim.beyond(
            "Asymmetry over the target's spread after endless training of the linearised network, mean.",
            float(means[laziest]["limit"]),
            expected="not 0: gradients of finitely many points do not span weight space",
        ),
    ]
