"""What Fig. 5B and 11 claim, for each run."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.pairs.angles import at_angles, by_angles
from symscope_papers.spectral.trained.config import RUNS, Trained

RANKS = 0.7  # Spearman's rho for what the paper calls qualitative agreement
SIDE = 0.8  # share of pairs on the same side of 1


def judge_claims(config: Trained, tables: RunTables) -> list[Claim]:
    """The claims of Fig. 5B and 11 for each run."""
    table = tables["pairs"]
    result: list[Claim] = []
    for run in config.runs:
        mine = table[table["run"] == run]
        name, source = RUNS[run]
        ranks, own = rank_correlations(mine, "spectral"), rank_correlations(mine, "own_exact")
        done = mine["converged"].mean()
        why = (
            f"Smallest Spearman rho over n: {at_angles(ranks, form='.2f')}; with the exact error of the "
            f"network's own infinite-width kernel: {at_angles(own, form='.2f')}. {mine['pair'].nunique()} "
            f"pairs, {done:.0%} trained to a mean squared error of {config.tolerance:g} in {config.epochs} "
            "epochs. Threshold is ours."
        )
        result.append(
            Claim.at_least(
                f"The spectral error ranks pairs as trained networks do at every number of angles ({name}).",
                source,
                min(ranks.values()),
                RANKS,
                why=why,
            )
        )
        same = float(((mine["spectral"] > 1) == (mine["trained"] > 1)).mean())
        result.append(
            Claim.at_least(
                f"The spectral error predicts which pairs trained networks get right ({name}).",
                source,
                same,
                SIDE,
                why="Share of pairs, over all n, on the same side of 1. Threshold is ours.",
            )
        )
        result.append(_falls(mine, name, source))
    return result


def rank_correlations(mine: pd.DataFrame, column: str) -> dict[int, float]:
    """Spearman's rho of a column with the errors of trained networks, for each number of angles."""
    return {
        n: float(part["trained"].corr(part[column], method="spearman")) for n, part in by_angles(mine).items()
    }


def _falls(mine: pd.DataFrame, name: str, source: str) -> Claim:
    statement = f"Trained networks predict the missing image better the more angles there are ({name})."
    means = {n: float(part["trained"].mean()) for n, part in by_angles(mine).items()}
    if len(means) < 2:
        return Claim.not_checked(statement, source, "needs two numbers of angles")
    good = all(later < earlier for earlier, later in pairwise(means.values()))
    words = f"mean error {at_angles(means, form='.2f')}"
    return Claim.from_check(statement, source, good, measured=words, threshold="falls with every n")
