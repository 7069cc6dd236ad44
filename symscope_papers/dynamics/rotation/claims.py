"""Claims of `dynamics/rotation`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscope.runs import Claim, RunTables
from symscope_papers.dynamics.rotation.config import HALF_TURNS, Rotation
from symscope_papers.dynamics.rotation.measure import paper_size
from symscope_papers.dynamics.strategies.claims import (
    SMALL,
    common_claims,
    final_rows,
    same_order,
    strategy_ratio,
)

if TYPE_CHECKING:
    import pandas as pd

SHIFTS = (1e-7, 1e-3)  # Sec. 5.1: orthogonal to E, and in all
SOURCE = "Sec. 5.1"


def judge_claims(config: Rotation, tables: RunTables) -> list[Claim]:
    """The claims, judged on the tables of a run."""
    whole = paper_size(config)
    ends = final_rows(tables)
    return [
        *common_claims(config, tables),
        _closer_claim(ends, tables),
        *_size_claims(config, ends, whole),
        Claim.not_testable(
            "Number of passes, projection, sizes and architecture make Fig. 1c different.",
            SOURCE,
            "The paper calls it speculation. What the authors' scripts do is enough to explain it: they draw "
            "half turns only (below).",
            quote="The reason of the different behaviour in the rotation experiment can at this point only "
            "be speculated on.",
        ),
        Claim.beyond(
            "NOMINAL over AUGMENTED, mean |A_E⊥| at the end, when only half turns are drawn, as in the "
            "authors' scripts.",
            strategy_ratio(ends, HALF_TURNS.name),
            expected=f"far below the {strategy_ratio(ends, 'augmented'):.3g} of all four turns",
            why="The part of the gradient that is even under half turns is not averaged away: drift grows "
            "with every step as in NOMINAL.",
        ),
    ]


def _closer_claim(ends: dict[str, pd.DataFrame], tables: RunTables) -> Claim:
    statement = "AUGMENTED and NOMINAL are nearer to each other under rotations than in Experiment 1."
    quote = "For the rotation experiments, the AUGMENTED and NOMINAL models are much closer to each other"
    if "graphs" not in tables:
        return Claim.not_checked(statement, SOURCE, SMALL, quote=quote)
    graphs = {str(name): part for name, part in tables["graphs"].groupby("strategy")}
    here, there = strategy_ratio(ends, "augmented"), strategy_ratio(graphs, "augmented")
    half = strategy_ratio(ends, HALF_TURNS.name)
    return Claim.from_check(
        statement,
        SOURCE,
        here < there,
        measured=f"ratio {here:.3g} against {there:.3g}",
        threshold="a smaller ratio of norms than in Experiment 1",
        quote=quote,
        reading="Norms of the part orthogonal to E at the end, NOMINAL over AUGMENTED, all four turns drawn "
        "alike, as the text says; only the direction is judged.",
        why=f"With half turns only, as in the authors' scripts, the ratio is {half:.3g}.",
    )


def _size_claims(config: Rotation, ends: dict[str, pd.DataFrame], whole: bool) -> list[Claim]:
    statement = "Shifts orthogonal to E are of order 1e-7, shifts in all of order 1e-3."
    quote = "on the order 10^-7 compared to 10^-3"
    if not whole:
        return [Claim.not_checked(statement, SOURCE, "Sizes belong to the paper's own network.", quote=quote)]
    name = HALF_TURNS.name if config.scripts else "augmented"
    norm, shift = ends[name]["drift"].mean(), ends[name]["published_travelled"].mean()
    squares = ends[name]["published"].mean()
    seen = f"{norm:.2g} of {shift:.2g} as norms"
    squared = f"squares of norms, which the authors' scripts take for norms: {squares:.2g}"
    if not config.scripts:
        return [
            Claim.number_differs(
                statement,
                SOURCE,
                measured=seen,
                stated="1e-7 of 1e-3",
                quote=quote,
                why=f"N_aug, mini-batches and canvas are not stated; {squared}. See the preset `authors`.",
            )
        ]
    return [
        Claim.from_check(
            statement,
            SOURCE,
            same_order(norm, SHIFTS[0]) and same_order(shift, SHIFTS[1]),
            measured=seen,
            threshold="the same powers of ten",
            quote=quote,
            why=f"As the scripts do it, half turns only; {squared}.",
        ),
        Claim.beyond(
            "The same with squares of norms for the part orthogonal to E.",
            f"{squares:.2g} of {shift:.2g}",
            expected="1e-7 of 1e-3 if the paper's numbers are squares",
        ),
    ]
