"""What Fig. 5B and 11 claim, for each run."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.pairs.angles import by_angles
from symscope_papers.spectral.trained.config import RUNS, Trained

RANKS = 0.7  # Spearman's rho for what the paper calls qualitative agreement
SIDE = 0.8  # share of pairs on the same side of 1


def judge_claims(config: Trained, tables: RunTables) -> list[Claim]:
    """The claims of Fig. 5B and 11 for each run."""
    table = tables["pairs"]
    found: list[Claim] = []
    for run in config.runs:
        mine = table[table["run"] == run]
        name, source = RUNS[run]
        rho = partial(_rho_by_angles, mine)
        ranks, own = rho("spectral"), rho("own_exact")
        each = ", ".join(f"{value:.2f} at n = {n}" for n, value in ranks.items())
        each_own = ", ".join(f"{value:.2f} at n = {n}" for n, value in own.items())
        done = mine["converged"].mean()
        why = (
            f"Smallest Spearman rho over n: {each}; with the exact error of the network's own infinite-width "
            f"kernel: {each_own}. {mine['pair'].nunique()} pairs, {done:.0%} trained to a mean squared error "
            f"of {config.tolerance:g} in {config.epochs} epochs. Threshold is ours."
        )
        found.append(
            Claim.at_least(
                f"The spectral error ranks pairs as trained networks do at every number of angles ({name}).",
                source,
                min(ranks.values()),
                RANKS,
                why=why,
            )
        )
        same = float(((mine["spectral"] > 1) == (mine["trained"] > 1)).mean())
        found.append(
            Claim.at_least(
                f"The spectral error tells which pairs trained networks get right ({name}).",
                source,
                same,
                SIDE,
                why="Share of pairs, over all n, on the same side of 1. Threshold is ours.",
            )
        )
        found.append(_falls(mine, name, source))
    return found


def _rho_by_angles(mine: Any, column: str) -> dict[int, float]:
    return {
        n: float(part["trained"].corr(part[column], method="spearman")) for n, part in by_angles(mine).items()
    }


def _falls(mine: Any, name: str, source: str) -> Claim:
    statement = f"Trained networks predict the missing image better the more angles there are ({name})."
    means = {n: float(part["trained"].mean()) for n, part in by_angles(mine).items()}
    if len(means) < 2:
        return Claim.not_checked(statement, source, "needs two numbers of angles")
    values = list(means.values())
    good = all(later < earlier for earlier, later in pairwise(values))
    words = ", ".join(f"{value:.2f} at n = {n}" for n, value in means.items())
    return Claim.from_check(
        statement, source, good, measured=f"mean error {words}", threshold="falls with every n"
    )
