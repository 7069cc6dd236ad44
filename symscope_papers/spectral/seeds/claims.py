"""What Fig. 6A claims, and what the exact group form predicts for the same data sets."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.pairs.angles import at_angles, correlations, distances
from symscope_papers.spectral.seeds.config import Seeds

TRACKS = 0.9  # Pearson's r, and Spearman's over all trials together
CLOSER = 10.0
SIDE = 0.9  # share of trials on the same side of 1


def judge_claims(config: Seeds, tables: RunTables) -> list[Claim]:
    """The claim of Fig. 6A, and what the exact group form predicts for the same sets."""
    table = tables["trials"]
    tracks, near = correlations(table, "spectral", "exact"), distances(table, "spectral", "exact")
    nearer = distances(table, "projected", "exact")
    size = f"{config.trials} trials of 2 x {config.seeds} digits"
    gaps = at_angles(near, nearer, form=".2g", between=" against ")
    beyond = {n: gap / max(nearer[n], 1e-12) for n, gap in near.items() if n <= 16}
    result = [
        Claim.at_least(
            "The pair-averaged spectral error predicts the exact error over the whole set, trial by trial.",
            "Fig. 6A, 12",
            min(tracks.values()),
            TRACKS,
            why=f"Smallest Pearson r over n: {at_angles(tracks)}; {size}. Threshold is ours.",
        ),
        Claim.at_least(
            "Over all numbers of angles the average over pairs ranks data sets as the exact error does.",
            "Fig. 6A, 12",
            float(table["spectral"].corr(table["exact"], method="spearman")),
            TRACKS,
            why=f"Spearman rho over {len(table)} data sets. Threshold is ours.",
        ),
        Claim.at_least(
            "The pair-averaged spectral error predicts whether missing images are right on average.",
            "Fig. 6A, 12",
            float(((table["spectral"] > 1) == (table["exact"] > 1)).mean()),
            SIDE,
            why="Share of data sets on the same side of 1. Threshold is ours.",
        ),
        Claim.at_least(
            "The exact group form predicts the exact error over the whole set at every number of angles.",
            "beyond the paper",
            min(correlations(table, "projected", "exact").values()),
            0.99,
            why="Smallest Pearson r over n. Threshold is ours.",
        ),
    ]
    statement = "The group form is 10 times closer to the exact error than the average over pairs, n <= 16."
    if not beyond:
        return [*result, Claim.not_checked(statement, "beyond the paper", "needs 16 angles or fewer")]
    why = f"Smallest factor of mean absolute differences. They are: {gaps} (pairs against group form)."
    return [*result, Claim.at_least(statement, "beyond the paper", min(beyond.values()), CLOSER, why=why)]
