"""What Fig. 4, Fig. 10 and App. D claim, and what the exact group form adds."""

from __future__ import annotations

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.mlp_rotations.config import MlpRotations
from symscope_papers.spectral.pairs.angles import at_angles, by_angles, correlations, distances

TRACKS = 0.98  # Pearson's r
GAP = 0.05  # mean absolute difference
CLOSER = 10.0  # how many times closer the group form is to be, up to 16 angles
LINEAR = 0.9  # Pearson's r of what the paper calls approximately linear
SAME = 0.95  # share of pairs on which two verdicts agree


def judge_claims(config: MlpRotations, tables: RunTables) -> list[Claim]:
    """The claims of Fig. 4, App. D and Fig. 10, and what the exact group form adds."""
    table = tables["pairs"]
    result: list[Claim] = []
    for hidden in config.hidden:
        mine = table[table["hidden"] == hidden]
        ntk, nngp = (mine[mine["kernel"] == kernel] for kernel in ("NTK", "NNGP"))
        source = "Fig. 4B, App. D" if hidden == 1 else "Fig. 10"
        result += _tracking(ntk, layers_text(hidden), source)
        result += _closeness(ntk, layers_text(hidden))
        result += _geometry(ntk, hidden, config.shown)
        result += _other_kernel(ntk, nngp, layers_text(hidden))
    return result


def _tracking(ntk: pd.DataFrame, layers: str, source: str) -> list[Claim]:
    tracks, gaps = correlations(ntk, "spectral", "exact"), distances(ntk, "spectral", "exact")
    each = at_angles(tracks, gaps, form=".4f .2g", between=" and ")
    same = {
        n: float(((part["spectral"] > 1) == (part["exact"] > 1)).mean()) for n, part in by_angles(ntk).items()
    }
    return [
        Claim.at_least(
            f"The spectral error tracks the symmetrised NTK error at every number of angles ({layers}).",
            source,
            min(tracks.values()),
            TRACKS,
            why=f"Smallest Pearson r. Pearson r and mean absolute difference: {each}. Threshold is ours.",
        ),
        Claim.at_most(
            f"The spectral error is near the symmetrised NTK error in size ({layers}).",
            source,
            max(gaps.values()),
            GAP,
            why="Largest mean absolute difference over numbers of angles. Threshold is ours.",
        ),
        Claim.at_least(
            f"The spectral error separates right from wrong predictions ({layers}).",
            source,
            min(same.values()),
            SAME,
            why="Share of pairs for which it is on the same side of 1 as the exact error, smallest over n "
            f"(n = {min(same, key=lambda n: same[n])}). Threshold is ours.",
        ),
    ]


def _closeness(ntk: pd.DataFrame, layers: str) -> list[Claim]:
    """How many times nearer the group form is than the formula, to each of the two exact errors."""
    statements = {
        "mean_exact": f"The group-projected error is 10 times closer to the exact error, averaged over the "
        f"missing angle, than the spectral error is, for n <= 16 ({layers}).",
        "exact": f"With the upright image missing, the group-projected error is 10 times closer to the "
        f"exact error than the spectral error is, for n <= 16 ({layers}).",
    }
    few = ntk[ntk["angles"] <= 16]
    result = []
    for column, statement in statements.items():
        if few.empty:
            result.append(Claim.not_checked(statement, "beyond the paper", "needs 16 angles or fewer"))
            continue
        projected = distances(few, "projected", column)
        factors = {n: gap / max(projected[n], 1e-12) for n, gap in distances(few, "spectral", column).items()}
        result.append(
            Claim.at_least(
                statement,
                "beyond the paper",
                min(factors.values()),
                CLOSER,
                why=f"Smallest factor between mean absolute differences: {at_angles(factors, form='.3g')}.",
            )
        )
    return result


def _geometry(ntk: pd.DataFrame, hidden: int, shown: int) -> list[Claim]:
    result = []
    for one, other, statement, letter in (
        ("lambda_n", "separation", "λ_N is nearly linear in the squared distance of orbit centres", "D"),
        ("mean_inverse", "density", "The mean inverse spectrum is nearly linear in orbit density", "E"),
    ):
        each = correlations(ntk, one, other)
        result.append(
            Claim.at_least(
                f"{statement} ({layers_text(hidden)}, {shown} angles).",
                f"Fig. 4{letter}" if hidden == 1 else f"Fig. 10 (as 4{letter})",
                each[shown],
                LINEAR,
                why=f"Pearson r: {at_angles(each)}. Threshold is ours.",
            )
        )
    return result


def _other_kernel(ntk: pd.DataFrame, nngp: pd.DataFrame, layers: str) -> list[Claim]:
    tracks, spread = (correlations(nngp, "spectral", exact) for exact in ("exact", "mean_exact"))
    each = ", ".join(f"{r:.4f} ({spread[n]:.4f}) at n = {n}" for n, r in tracks.items())
    keys = ["angles", "pair"]
    both = ntk.merge(nngp, on=keys, suffixes=("", "_nngp"))
    return [
        Claim.at_least(
            f"With the NNGP kernel the spectral error tracks the exact error as well ({layers}).",
            "section 2",
            min(tracks.values()),
            TRACKS,
            why=f"Smallest Pearson r, in brackets with the error averaged over the missing angle: {each}. "
            "The upright image is one of four that no spline has smoothed. Threshold is ours.",
        ),
        Claim.at_least(
            f"NNGP and NTK agree on which pairs are predicted rightly ({layers}).",
            "section 2",
            float(((both["exact"] > 1) == (both["exact_nngp"] > 1)).mean()),
            SAME,
            why=f"Share of {len(both)} problems (pairs at every n). Threshold is ours.",
        ),
    ]


def layers_text(hidden: int) -> str:
    """How many hidden layers, in words."""
    return "1 hidden layer" if hidden == 1 else f"{hidden} hidden layers"
