"""What Sec. 3.3 and App. E state of trained networks (Adam), and the same of other trainings."""

from __future__ import annotations

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.pairs.angles import at_angles, by_angles
from symscope_papers.spectral.pairs.judged import correlation, falls_claim, standard_error
from symscope_papers.spectral.trained.config import RUNS, Trained

AGREES = "this agreement qualitatively holds for finite-width, trained networks"


def judge_claims(config: Trained, tables: RunTables) -> list[Claim]:
    """Stated claims of the runs that are the paper's, measurements of all."""
    table = tables["pairs"]
    result: list[Claim] = []
    for run in config.runs:
        mine = table[table["run"] == run]
        name, source = RUNS[run]
        if source:
            falls = f"Trained networks predict the missing image better the more angles there are ({name})."
            result += [_ranks_claim(mine, name, source), falls_claim(mine, "trained", falls)]
        result += _measurements(mine, name, source, config)
    return result


def rank_correlations(mine: pd.DataFrame, column: str) -> dict[int, float]:
    """Spearman's rho of a column with the errors of trained networks, for each number of angles."""
    return {n: _rho(part, column) for n, part in by_angles(mine).items()}


def _rho(part: pd.DataFrame, column: str) -> float:
    return correlation(part, "trained", column, "spearman")


def _ranks_claim(mine: pd.DataFrame, name: str, source: str) -> Claim:
    ranks = rank_correlations(mine, "spectral")
    errors = {
        n: standard_error(part, lambda some: _rho(some, "spectral")) for n, part in by_angles(mine).items()
    }
    weakest = min(ranks, key=lambda n: ranks[n])
    return Claim.from_check(
        f"Pairs with larger spectral errors have larger errors in trained networks, at every n ({name}).",
        source,
        all(ranks[n] > 2 * errors[n] for n in ranks),
        measured=ranks[weakest],
        threshold="Spearman's rho > 0 by two standard errors at every n",
        quote=AGREES,
        reading="Qualitative agreement: errors rise together, beyond chance.",
        uncertainty=f"± {errors[weakest]:.2g}",
        why=f"The smallest of {at_angles(ranks, errors, form='.2f .2f', between=' ± ')}.",
    )


def _measurements(mine: pd.DataFrame, name: str, source: str, config: Trained) -> list[Claim]:
    """Rank correlations, verdicts, mean errors; beyond the paper where the run is not the paper's."""
    own = rank_correlations(mine, "own_exact")
    same = {n: float(((p["spectral"] > 1) == (p["trained"] > 1)).mean()) for n, p in by_angles(mine).items()}
    means = {n: float(part["trained"].mean()) for n, part in by_angles(mine).items()}
    why = (
        f"{mine['pair'].nunique()} pairs, {mine['converged'].mean():.0%} trained to a mean squared error of "
        f"{config.tolerance:g} in {config.epochs} epochs, width {config.width}."
    )
    values = {
        f"Spearman's rho of spectral and trained errors ({name}).": rank_correlations(mine, "spectral"),
        f"Spearman's rho with regression by the network's own infinite-width kernel ({name}).": own,
        f"Share of pairs on the same side of 1, spectral and trained error ({name}).": same,
        f"Mean error of trained networks at the missing image ({name}).": means,
    }
    return [
        Claim.quantified(statement, source, at_angles(value, form=".2f"), quote=AGREES, why=why)
        if source
        else Claim.beyond(statement, at_angles(value, form=".2f"), why=why)
        for statement, value in values.items()
    ]
