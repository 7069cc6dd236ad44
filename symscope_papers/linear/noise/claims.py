"""Claims of `linear/noise`."""

from __future__ import annotations

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.linear.noise.config import Noise
from symscope_papers.linear.training import STRAIGHT


def judge_claims(config: Noise, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    levels = tables["levels"]
    point = levels[(levels["noise"] == "point") & (levels["sigma"] > 0)]
    return [
        *_stated_claims(config, tables),
        *_rates(config, levels),
        *(_floors(config, point) if len(point) else []),
    ]


def _stated_claims(config: Noise, tables: RunTables) -> list[Claim]:
    levels, paths = tables["levels"], tables["paths"]
    shared = paths[paths["noise"] == "orbit"].groupby("epoch")["asymmetric_weight"]
    orbit, strongest = levels[levels["noise"] == "orbit"], max(config.sigmas)
    decays = "the asymmetry loss still exhibits its typical exponential decay"
    return [
        Claim.at_most(
            "The asymmetric part decays exponentially at every noise level.",
            "App. D, Fig. 3",
            float((1 - orbit["straightness"]).max()),
            STRAIGHT,
            quote=decays,
            reading="All samples of an orbit share their noise, so that Assumption 1 holds; the paper does "
            "not say. With its own noise for every sample the loss ends at a floor (below).",
            why="Share of the logarithm's variance that is not on a straight line, the worst level, down to "
            "rounding: zero for an exponential.",
        )
        if strongest >= 0.5
        else Claim.not_checked(
            "The asymmetric part decays exponentially at every noise level.",
            "App. D, Fig. 3",
            f"The paper's levels go up to 0.5, these to {strongest:g}.",
            quote=decays,
        ),
        Claim.at_most(
            "The asymmetric weight does not depend on the labels.",
            "Theorem 3.3.3, App. D",
            float((shared.max() - shared.min()).max()),
            1e-12,
            quote="As the asymmetric weights do not depend on the labels",
            reading="Where Assumption 1 holds: an orbit shares its noise.",
            why="Largest difference between two noise levels, over all epochs: zero to rounding.",
        ),
    ]


def _rates(config: Noise, levels: pd.DataFrame) -> list[Claim]:
    """Rates of decay at all levels of both kinds of noise."""
    rates = levels["fitted_rate"]
    spread = f"for σ from {min(config.sigmas):g} to {max(config.sigmas):g}"
    return [
        Claim.quantified(
            "Largest over smallest fitted rate of decay, less one.",
            "Fig. 3",
            float(rates.max() / rates.min() - 1),
            quote="all exhibit relatively typical asymmetry loss curves",
            why=f"{spread.capitalize()}, both kinds of noise; of the distance of the asymmetric weight from "
            "its limit.",
        ),
        Claim.quantified(
            "Relative difference between the fitted rate and K_G's eigenvalue on the asymmetric weights.",
            "Theorem 3.3.3",
            float((rates / levels["eigenvalue"] - 1).abs().max()),
            quote="w_k will exponentially decay",
            why="The worst level, both kinds of noise.",
        ),
    ]


def _floors(config: Noise, point: pd.DataFrame) -> list[Claim]:
    """Where the loss ends if every sample has its own noise."""
    ends = point["final_asymmetry"] / point["first_asymmetry"]
    return [
        Claim.quantified(
            "With its own noise for every sample: the asymmetry loss at the end of training, as a "
            f"fraction of the start, at σ = {max(config.sigmas):g}.",
            "Fig. 3",
            float(ends.iloc[int(point["sigma"].argmax())]),
            quote="all exhibit relatively typical asymmetry loss curves",
            why="By level: "
            + ", ".join(f"{e:.2g} at σ = {s:g}" for s, e in zip(point["sigma"], ends, strict=True))
            + ". A small noisy sample is not a symmetric one.",
        ),
        Claim.beyond(
            "Relative difference between that floor and the asymmetry of the sample's own solution, the "
            "worst level.",
            float((point["final_asymmetry"] / point["floor"] - 1).abs().max()),
            expected="0 once training has converged",
        ),
    ]
