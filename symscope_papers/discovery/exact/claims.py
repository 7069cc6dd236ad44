"""Claims of `discovery/exact`."""

from __future__ import annotations

from typing import Any

from symscope.runs import Claim, RunTables
from symscope_papers.discovery.exact.config import Exact

TOLERANCE = 1e-6  # relative loss drift of a symmetry, and sine of a principal angle; ours
LEVEL = 1e-3  # chance of a gap by accident; ours


def judge_claims(config: Exact, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    table = tables["networks"]
    wide = table["network"] == config.wide
    small = table[~wide]
    claims = [
        _counted(
            "Linear layers have gl(h), so(h,h) with one input and output, more with one of them.",
            "Sec. 3.3, beyond",
            small[small["family"] == "linear"],
        ),
        _counted(
            "ReLU and leaky ReLU layers have one rescaling per unit.",
            "Sec. 3.3.2",
            small[small["family"].isin(["ReLU", "leaky ReLU"])],
        ),
        _counted(
            "tanh and sigmoid layers have no linear symmetry.",
            "Sec. 2",
            small[small["family"].isin(["tanh", "sigmoid"])],
        ),
        _counted(
            "Softmax is free of translations, normalisation of scale, attention has gl on QK and VO.",
            "Sec. 2",
            small[small["family"].isin(["softmax", "LayerNorm", "RMSNorm", "attention"])],
        ),
    ]
    return [*claims, *_quality(small), *_wide_claims(config, table[wide])]


def _counted(statement: str, source: str, part: Any) -> Claim:
    if not len(part):
        return Claim.not_checked(statement, source, "none of these networks is in the config")
    right = (part["found"] == part["expected"]) & (part["translations"] == part["expected_translations"])
    words = f"{int(right.sum())} of {len(part)} runs give the dimension of theory"
    return Claim.from_check(statement, source, bool(right.all()), measured=words, threshold="all")


def _quality(small: Any) -> list[Claim]:
    drift, rival = small["drift"].dropna(), small["random_drift"].dropna()
    sines, kept = small["span_sine"].dropna(), small["conservation"].dropna()
    least = f"random fields of the same norm drift by {rival.min():.1e} or more" if len(rival) else ""
    return [
        Claim.at_most(
            "The generators found span the algebra of theory (sine of the largest principal angle).",
            "beyond the paper",
            float(sines.max()),
            TOLERANCE,
            why="threshold is ours",
        )
        if len(sines)
        else Claim.not_checked(
            "The generators found span the algebra of theory.",
            "beyond the paper",
            "theory gives no basis for these networks",
        ),
        Claim.at_most(
            "A random element of every algebra keeps the loss on held-out parameters and data.",
            "beyond the paper",
            float(drift.max()),
            TOLERANCE,
            why=f"threshold is ours; {least}",
        )
        if len(drift)
        else Claim.not_checked("Found symmetries hold held-out.", "beyond the paper", "none found"),
        Claim.at_most(
            "No gap in singular values that decides a dimension is an accident (largest chance).",
            "beyond the paper",
            float(small["largest_chance"].dropna().max()),
            LEVEL,
            why="threshold is ours",
        )
        if small["largest_chance"].notna().any()
        else Claim.not_checked(
            "No gap is an accident.", "beyond the paper", "no null space in these networks"
        ),
        Claim.at_most(
            "Gradient flow conserves the quantities that follow from symmetric generators.",
            "Sec. 1",
            float(kept.max()),
            TOLERANCE,
            why=f"Relative, in {len(kept)} runs; flows that slide along a kink are out. Threshold is ours",
        )
        if len(kept)
        else Claim.not_checked("Gradient flow conserves what follows.", "Sec. 1", "no such quantity"),
        Claim.at_most(
            "What was found is closed under brackets.",
            "Sec. 3",
            float(small["closure"].max()),
            TOLERANCE,
            why="relative part outside; threshold is ours",
        ),
    ]


def _wide_claims(config: Exact, wide: Any) -> list[Claim]:
    statement = "Through its layers, a network too large for all matrices gives one rescaling per ReLU unit."
    if not len(wide):
        return [Claim.not_checked(statement, "beyond the paper", "no wide network in the config")]
    row = wide.iloc[0]
    good = bool(row["found"] == row["expected"])
    words = (
        f"{row['found']} of {row['expected']} in {row['parameters']} parameters, {row['unknowns']} unknowns"
    )
    return [Claim.from_check(statement, "beyond the paper", good, measured=words, threshold="all")]
