"""What Fig. 6A claims, and what the exact group form predicts for the same data sets."""

from __future__ import annotations

from symscope.runs import Claim, RunTables
from symscope_papers.scatter_plots import agreement
from symscope_papers.spectral.pairs.angles import by_angles
from symscope_papers.spectral.seeds.config import Seeds

TRACKS = 0.9  # Pearson's r, and Spearman's over all trials together
CLOSER = 10.0
SIDE = 0.9  # share of trials on the same side of 1


def judge_claims(config: Seeds, tables: RunTables) -> list[Claim]:
    """The claim of Fig. 6A, and what the exact group form says about the same sets."""
    table = tables["trials"]
    each_n = {n: agreement(part, "spectral", "exact") for n, part in by_angles(table).items()}
    group = {n: agreement(part, "projected", "exact") for n, part in by_angles(table).items()}
    size = f"{config.trials} trials of 2 x {config.seeds} seeds"
    correlations = ", ".join(f"{r:.3f} at n = {n}" for n, (r, _) in each_n.items())
    gaps = ", ".join(f"{gap:.2g} against {group[n][1]:.2g} at n = {n}" for n, (_, gap) in each_n.items())
    beyond = {n: gap / max(group[n][1], 1e-12) for n, (_, gap) in each_n.items() if n <= 16}
    found = [
        Claim.at_least(
            "The pair-averaged spectral error predicts the exact error over the whole set, trial by trial.",
            "Fig. 6A, 12",
            min(r for r, _ in each_n.values()),
            TRACKS,
            why=f"Smallest Pearson r over n: {correlations}; {size}. Threshold is ours.",
        ),
        Claim.at_least(
            "Over all numbers of angles the average over pairs ranks data sets as the exact error does.",
            "Fig. 6A, 12",
            float(table["spectral"].corr(table["exact"], method="spearman")),
            TRACKS,
            why=f"Spearman rho over {len(table)} data sets. Threshold is ours.",
        ),
        Claim.at_least(
            "The pair-averaged spectral error says whether missing images are predicted rightly on average.",
            "Fig. 6A, 12",
            float(((table["spectral"] > 1) == (table["exact"] > 1)).mean()),
            SIDE,
            why="Share of data sets on the same side of 1. Threshold is ours.",
        ),
        Claim.at_least(
            "The exact group form predicts the exact error over the whole set at every number of angles.",
            "beyond the paper",
            min(r for r, _ in group.values()),
            0.99,
            why="Smallest Pearson r over n. Threshold is ours.",
        ),
    ]
    statement = "The group form is 10 times closer to the exact error than the average over pairs, n <= 16."
    if not beyond:
        return [*found, Claim.not_checked(statement, "beyond the paper", "needs 16 angles or fewer")]
    why = f"Smallest factor of mean absolute differences. They are: {gaps} (pairs against group form)."
    return [*found, Claim.at_least(statement, "beyond the paper", min(beyond.values()), CLOSER, why=why)]
