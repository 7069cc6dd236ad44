"""Claims of `dynamics/stability`."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.dynamics.stability.config import Stability

LINEAR = 1e-3  # up to this |A_{E_perp}| the equation, which leaves squares out, is compared
ROUNDING = 1e-13  # below this |A_{E_perp}| is rounding of layers of size 1
EXACT = 1e-8  # rounding of layers of size 1 over a nominal drift of about 1e-4, with a margin


def judge_claims(config: Stability, tables: RunTables) -> list[Claim]:
    """What the spectrum decides, what is observed, and what sampling adds."""
    return [*_growth_claims(tables), *_instability_claims(config, tables), *_sampling_claims(config, tables)]


def _growth_claims(tables: RunTables) -> list[Claim]:
    rates, table = tables["rates"], tables["drift"]
    decided = rates[(rates["end"] == "lowest") & (rates["verdict"] != "neutral")]
    right = (decided["measured"] > 0) == (decided["verdict"] == "unstable")
    counts = decided["verdict"].value_counts()
    gap = (rates["predicted"] - rates["measured"]).abs() / rates["largest"]
    linear = table[(table["predicted"] <= LINEAR) & (table["predicted"] >= ROUNDING)]
    error = (linear["predicted"] - linear["measured"]).abs() / linear["measured"]
    return [
        Claim.from_check(
            "The sign of the lowest eigenvalue on E_perp decides whether augmented training leaves E.",
            "Sec. 4.2",
            bool(right.all()),
            measured=f"{int(right.sum())} of {len(right)} moments of training as the sign says",
            threshold="all",
            quote="the stability of E is completely determined by the spectrum of ∇²R_aug restricted to E^⊥",
            why=f"{counts.get('unstable', 0)} unstable and {counts.get('stable', 0)} stable moments; the "
            "stable ones are mostly of networks of one layer, whose risk is convex.",
        ),
        Claim.quantified(
            "Growth rate of |A_E_perp| minus that given by the spectrum, over the largest curvature.",
            "Sec. 4.2",
            float(gap.max()),
            quote="the stability of E is completely determined by the spectrum",
            uncertainty=f"at most, over {len(rates)} rates (median {gap.median():.1g})",
        ),
        Claim.quantified(
            "Relative difference of |A_E_perp| from y' = -Hess R_aug(x) y along the equivariant flow.",
            "Sec. 4.2",
            float(error.max()),
            quote="linearising in the deviation y from the equivariant subspace",
            uncertainty=f"at most, over {len(linear)} moments with |A_E_perp| from {ROUNDING:g} to "
            f"{LINEAR:g} (median {error.median():.1g})",
        ),
    ]


def _instability_claims(config: Stability, tables: RunTables) -> list[Claim]:
    spectrum = tables["spectrum"]
    last = spectrum[(spectrum["part"] == "outside") & (spectrum["time"] == spectrum["time"].max())]
    last = last[last["layers"] == 2]
    unstable = last["verdict"] == "unstable"
    leaving = last[unstable]
    return [
        Claim.from_check(
            "There are problems and trained equivariant layers at which E is not stable.",
            "Sec. 5 (i)",
            bool(unstable.any()),
            measured=f"{int(unstable.sum())} of {len(last)} trained networks with a hidden layer",
            threshold="at least one",
            quote="The set E is invariant, but not necessarily stable, under the gradient flow of R_aug.",
            reading="Stability as Sec. 4.2 defines it, by the spectrum. The networks of Fig. 1 are looked at "
            "in their own experiments.",
        ),
        Claim.quantified(
            "Fastest growth rate of a deviation from E among the unstable ones.",
            "Sec. 5 (i)",
            float((-leaving["lowest"]).max()) if len(leaving) else 0.0,
            quote="not necessarily stable",
            uncertainty=f"at time {config.horizon:g}; to show, it needs a training time of order one over it",
        ),
    ]


def _sampling_claims(config: Stability, tables: RunTables) -> list[Claim]:
    noise = tables["noise"]
    pooled = ((noise["sampled"] / noise["predicted"]) ** 2).groupby(noise["passes"]).mean() ** 0.5
    trainings = config.repeats * int((noise["passes"] == noise["passes"].iloc[0]).sum())
    falls = (noise["sampled"] / noise["nominal"]).groupby(noise["passes"]).mean()
    return [
        Claim.at_most(
            "Averaged over all of the group, augmented descent stays in E to rounding.",
            "Sec. 1, Cor. 1",
            float((noise["exact"] / noise["nominal"]).max()),
            EXACT,
            quote="if the augmented model is equivariantly initialized it will remain equivariant during "
            "training",
            why=f"Drift of exact augmentation over that of nominal training after {config.steps} steps of "
            f"rate {config.rate:g}; both are small numbers found by subtracting layers of size 1.",
        ),
        Claim.from_check(
            "The drift of sampled augmentation falls with the number of passes.",
            "Sec. 5",
            bool(falls.sort_index().is_monotonic_decreasing),
            measured=", ".join(f"{share:.2g} with {passes}" for passes, share in falls.items()),
            threshold="falls",
            quote="In the limit τ → 0 and N^aug → ∞, this exactly corresponds to letting the layers evolve "
            "according to gradient flow",
            reading="Of the limit only the direction can be tested: drift over nominal drift, per number of "
            "passes.",
        ),
        Claim.beyond(
            "Drift of sampled augmentation over that of a random walk: nominal drift over the root of "
            "steps times passes.",
            float((pooled**2).mean() ** 0.5),
            expected="1 over times short against one over the lowest eigenvalue",
            uncertainty=f"from {pooled.min():.3g} to {pooled.max():.3g} over numbers of passes, root mean "
            f"square of {trainings} trainings each",
        ),
    ]
