"""What Sec. 3.3 and App. E state of trained networks (Adam), and the same of other trainings."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.spectral.pairs.angles import by_angles
from symscope_papers.spectral.pairs.judged import (
    correlation,
    falls_claim,
    mean_and_error,
    standard_error,
    with_errors,
)
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


def _rho_and_error(part: pd.DataFrame, column: str) -> tuple[float, float]:
    return _rho(part, column), standard_error(part, lambda some: _rho(some, column))


def _ranks_claim(mine: pd.DataFrame, name: str, source: str) -> Claim:
    ranks = {n: _rho_and_error(part, "spectral") for n, part in by_angles(mine).items()}
    weakest, error = min(ranks.values())
    return Claim.from_check(
        f"Pairs with larger spectral errors have larger errors in trained networks, at every n ({name}).",
        source,
        all(rho > 2 * error for rho, error in ranks.values()),
        measured=weakest,
        threshold="Spearman's rho > 0 by two standard errors at every n",
        quote=AGREES,
        reading="Qualitative agreement: errors rise together, beyond chance.",
        uncertainty=f"± {error:.2g}",
        why=f"The smallest of {with_errors(ranks, '.2f .2f')}.",
    )


def _measurements(mine: pd.DataFrame, name: str, source: str, config: Trained) -> list[Claim]:
    """Rank correlations, verdicts, mean errors; beyond the paper where the run is not the paper's."""
    trained = f"trained for {config.epochs} epochs"
    if config.tolerance:
        share = f"{mine['converged'].mean():.0%}"
        trained = f"{share} trained to a mean squared error of {config.tolerance:g} in {config.epochs} epochs"
    why = f"{mine['pair'].nunique()} pairs, {trained}, width {config.width}."
    quantities: dict[str, Callable[[pd.DataFrame], tuple[float, float]]] = {
        "Spearman's rho of spectral and trained errors": lambda part: _rho_and_error(part, "spectral"),
        "Spearman's rho with regression by the network's own infinite-width kernel": lambda part: (
            _rho_and_error(part, "own_exact")
        ),
        "Share of pairs on the same side of 1, spectral and trained error": lambda part: mean_and_error(
            (part["spectral"] > 1) == (part["trained"] > 1)
        ),
        "Mean error of trained networks at the missing image": lambda part: mean_and_error(part["trained"]),
    }
    claims = []
    for words, quantity in quantities.items():
        statement = f"{words} ({name})."
        measured = with_errors({n: quantity(part) for n, part in by_angles(mine).items()}, ".2f .2f")
        note = "(± one standard error)"
        claims.append(
            Claim.quantified(statement, source, measured, quote=AGREES, uncertainty=note, why=why)
            if source
            else Claim.beyond(statement, measured, uncertainty=note, why=why)
        )
    return claims
