"""What App. G.2 claims."""

from __future__ import annotations

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.conv_shifts.config import ConvShifts
from symscope_papers.spectral.conv_shifts.measure import READOUTS
from symscope_papers.spectral.pairs.angles import at_angles, by_angles, correlations, distances

TRACKS = 0.95  # ours: Pearson's r
SEEN = 0.05  # ours: a mean error that no one would call generalisation to rounding
ROUNDING = 1e-12
DENSE = 1e-6  # ours: entries of an NTK hold angles of equal windows, known to 2e-8


def judge_claims(config: ConvShifts, tables: RunTables) -> list[Claim]:
    """The claims of App. G.2."""
    table = tables["pairs"]
    fc, gap = (table[table["readout"] == readout] for readout in READOUTS)
    return [*_dense_claims(fc), *_pooled_claims(gap)]


def _dense_claims(fc: pd.DataFrame) -> list[Claim]:
    tracks, gaps = correlations(fc, "spectral", "exact"), distances(fc, "spectral", "exact")
    means = {n: float(part["exact"].mean()) for n, part in by_angles(fc).items()}
    wrong = ", ".join(
        f"{100 * (part['exact'] > 1).mean():.0f} % at n = {n}" for n, part in by_angles(fc).items()
    )
    return [
        Claim.at_least(
            "With a dense read-out the spectral error tracks the exact error.",
            "App. G.2",
            min(tracks.values()),
            TRACKS,
            why="Smallest Pearson r; r and mean absolute difference: "
            f"{at_angles(tracks, gaps, form='.3f .2g')}. Threshold is ours.",
        ),
        Claim.at_least(
            "With a dense read-out a convolutional network has an error at the missing position, whatever n.",
            "App. G.2",
            min(means.values()),
            SEEN,
            why=f"Smallest mean error over n: {at_angles(means, form='.2f')}. Wrong: {wrong}. "
            "Threshold is ours.",
        ),
        _agreement(fc, "With a dense read-out the exact group form gives the error of dense regression."),
    ]


def _pooled_claims(gap: pd.DataFrame) -> list[Claim]:
    explained = gap["unseen"] == gap["irreps"] - 1
    lost = gap["zero_frequencies"] >= 2 * gap["angles"] - 2
    example = gap["explanation"].iloc[0]
    return [
        Claim.at_most(
            "With global pooling the error is zero to rounding.",
            "App. G.2",
            float(gap["exact"].abs().max()),
            ROUNDING,
            why=f"Largest error of {len(gap)} problems; nothing was added to the diagonal.",
        ),
        Claim.from_check(
            "It is zero because the kernel matrix is rank-deficient: only frequency zero is seen.",
            "App. G.2, Prop. 2",
            bool(explained.all()),
            measured=f"found and explained in {int(explained.sum())} of {len(gap)} problems",
            threshold="all",
            why=f"The result explains: {example}",
        ),
        Claim.from_check(
            "In Eq. 7 all frequencies but zero and the labels' own vanish, so that its denominator diverges.",
            "App. G.2",
            bool((lost & (gap["spectral"] == 0)).all()),
            measured=f"{int(lost.sum())} of {len(gap)} problems",
            threshold="all",
        ),
        _agreement(gap, "With global pooling dense regression of least norm has no error either."),
    ]


def _agreement(part: pd.DataFrame, statement: str) -> Claim:
    solved = part[part["dense"].notna()]
    return Claim.at_most(
        statement,
        "beyond the paper",
        float((solved["dense"] - solved["exact"]).abs().max()),
        DENSE,
        why=f"Largest difference over {len(solved)} problems. Entries of an NTK hold angles between "
        "windows, of equal ones known to 2e-8 only; threshold is ours.",
    )
