"""Claims of Fig. 1: who stays in E, who leaves it, how far, and how we know that it is not rounding.

Thresholds are ours where the paper gives words: "several orders of magnitude" is asked as two, "much closer"
as less than one, and what stays in E may move by rounding of the precision it is trained in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscope.runs import Claim, RunTables
from symscope_papers.dynamics.strategies.config import Setting, lower_precision

if TYPE_CHECKING:
    import pandas as pd

ROUNDING = {"mixed": 1e-6, "single": 1e-6, "double": 1e-12}  # of |A - A_0|
ORDERS = 100.0  # two orders of magnitude
CLOSE = 10.0  # less than one
NOISE = (0.8, 1.25)  # root mean square over runs of measured over predicted drift; runs scatter more
PRECISE = 1e-3  # relative, between lower and double precision
AUTHORS_HOURS = 75.0  # on a Tesla T4, all three experiments (App. C)
OUR_HOURS = 0.75


def common_claims(config: Setting, tables: RunTables, *, whole: bool) -> list[Claim]:
    """What all three experiments claim; how long it takes, of runs of the paper's size alone."""
    ends = final_rows(tables)
    return [
        *_equivariant_claims(config, ends),
        *_noise_claims(config, tables, ends),
        *_precision_claims(config, tables),
        _time_claim(tables, whole),
    ]


def final_rows(tables: RunTables) -> dict[str, pd.DataFrame]:
    """The last epoch of every strategy, runs as index."""
    paths = tables["paths"]
    last = paths[paths["epoch"] == paths["epoch"].max()]
    return {str(name): part.set_index("run").sort_index() for name, part in last.groupby("strategy")}


def closer_claims(tables: RunTables) -> list[Claim]:
    """AUGMENTED is orders of magnitude nearer to E than NOMINAL (permutations and translations)."""
    ends = final_rows(tables)
    return [
        Claim.at_least(
            "AUGMENTED stays orders of magnitude closer to E than NOMINAL, in what the scripts plot.",
            "Fig. 1, authors' scripts",
            _ratio(ends, "augmented", "published"),
            ORDERS,
            why="Ratio of the means at the end; threshold ours: two orders. The scripts published with the "
            "paper plot squares of norms, which squares the ratio.",
        ),
        Claim.at_least(
            "AUGMENTED stays orders of magnitude closer to E than NOMINAL.",
            "Sec. 5.1",
            _ratio(ends, "augmented"),
            ORDERS,
            why="Ratio of the mean |A_E⊥| at the end; threshold ours: two orders. As sampling noise it grows "
            "like the root of epochs times passes, and with the number of samples.",
        ),
    ]


def rotation_claims(tables: RunTables, half: str, *, whole: bool) -> list[Claim]:
    """Fig. 1c and its explanation."""
    ends = final_rows(tables)
    claims = [
        Claim.at_most(
            "For rotations AUGMENTED and NOMINAL are much closer to each other.",
            "Sec. 5.1",
            _ratio(ends, "augmented"),
            CLOSE,
            why="NOMINAL over AUGMENTED, mean |A_E⊥| at the end; threshold ours. All four turns are drawn "
            "alike here, as the text says.",
        ),
        Claim.at_most(
            "They are, when only half turns are drawn, as in the scripts published with the paper.",
            "Sec. 5.1, authors' scripts",
            _ratio(ends, half),
            CLOSE,
            why="Half turns leave the part of the gradient that is even under them: it is not averaged away, "
            "and drift grows with every step as in NOMINAL.",
        ),
    ]
    statement = "Shifts orthogonal to E are of order 1e-7, shifts of order 1e-3."
    if not whole:
        return [
            *claims,
            Claim.not_checked(statement, "Sec. 5.1", "The sizes belong to the paper's own network."),
        ]
    shift, published = ends[half]["travelled"].mean(), ends[half]["published"].mean()
    good = 1e-4 <= shift <= 1e-2 and 1e-8 <= published <= 1e-6
    return [
        *claims,
        Claim.from_check(
            statement,
            "Sec. 5.1",
            bool(good),
            measured=f"{published:.2g} and {shift:.2g}",
            threshold="within a factor of 10",
            why="As the scripts do it: half turns only, and squares of norms for the part orthogonal to E; "
            f"the norm itself is {ends[half]['drift'].mean():.2g}.",
        ),
    ]


def _ratio(ends: dict[str, pd.DataFrame], name: str, what: str = "drift") -> float:
    """NOMINAL over another strategy, means over runs; huge where the other has not moved."""
    return float(ends["nominal"][what].mean() / max(ends[name][what].mean(), np.finfo(float).tiny))


def _equivariant_claims(config: Setting, ends: dict[str, pd.DataFrame]) -> list[Claim]:
    rounding = ROUNDING[config.precision]
    inside, augmented = ends["equivariant"], ends["augmented"]
    return [
        Claim.at_most(
            "EQUIVARIANT stays in E.",
            "Sec. 5",
            float((inside["drift"] / inside["travelled"]).max()),
            rounding,
            why="Largest |A_E⊥| / |A - A0| of all runs at the end; threshold: rounding.",
        ),
        Claim.at_least(
            "AUGMENTED leaves E in every run.",
            "Sec. 5.1",
            float((augmented["drift"] / augmented["travelled"]).min()),
            10 * rounding,
            why="Smallest |A_E⊥| / |A - A0| of all runs at the end; threshold: ten times rounding.",
        ),
        Claim.at_most(
            "AUGMENTED moves as EQUIVARIANT does: on E both gradients are the same in the mean.",
            "Cor. 1",
            float((augmented["travelled"] / inside["travelled"] - 1).abs().max()),
            0.1,
            why="Relative difference of |A - A0| at the end, largest of all runs; threshold ours.",
        ),
    ]


def _noise_claims(config: Setting, tables: RunTables, ends: dict[str, pd.DataFrame]) -> list[Claim]:
    step = tables["noise"].set_index("run")["step"].sort_index()
    predicted = config.rate * np.sqrt(config.epochs) * step
    ratio = ends["augmented"]["drift"] / predicted
    typical = float(np.sqrt((ratio**2).mean()))
    low, high = NOISE
    return [
        Claim.from_check(
            "The drift of AUGMENTED is the noise of sampling group elements.",
            "beyond the paper",
            low <= typical <= high,
            measured=typical,
            threshold=f"{low:g} to {high:g}",
            why="Measured over predicted |A_E⊥|, root mean square of runs (from "
            f"{ratio.min():.2f} to {ratio.max():.2f}); predicted from the gradients of mini-batches at A0, "
            "as a random walk: rate · sqrt(epochs · mean |Π⊥∇R_b|² / (batches · passes)). Threshold ours.",
        )
    ]


def _precision_claims(config: Setting, tables: RunTables) -> list[Claim]:
    lower = lower_precision(config)
    statement = f"Drift is not rounding: {lower} and double precision give the same."
    if "precision" not in tables:
        return [Claim.not_checked(statement, "beyond the paper", "No run was trained in both precisions.")]
    table = tables["precision"]
    moving = table[table["strategy"] != "equivariant"]
    gap = max(
        float((moving[f"{what}_{lower}"] / moving[f"{what}_double"] - 1).abs().max())
        for what in ("drift", "travelled")
    )
    return [
        Claim.at_most(
            statement,
            "beyond the paper",
            gap,
            PRECISE,
            why=f"Largest relative difference of |A_E⊥| and |A - A0| over {table['run'].nunique()} runs and "
            f"{table['epoch'].max()} epochs from the same A0 with the same elements; threshold ours.",
        )
    ]


def _time_claim(tables: RunTables, whole: bool) -> Claim:
    statement = "The experiment takes a small part of the authors' 75 GPU hours for all three."
    work = tables["work"]
    seconds, flops = work["seconds"].sum(), work["flops"].sum()
    floor = work["floor_seconds"].sum()
    if not whole:
        return Claim.not_checked(statement, "App. C", "Their hours are for the paper's sizes.")
    return Claim.at_most(
        statement,
        "App. C",
        float(seconds / 3600),
        OUR_HOURS,
        why=f"Hours of training, at most 45 minutes; {AUTHORS_HOURS * 3600 / seconds:.3g} times less than 75 "
        f"hours on their GPU. {flops:.2g} operations in products; in one large product this machine would "
        f"do them in {floor:.3g} s, {floor / seconds:.0%} of {seconds:.3g} s.",
    )
