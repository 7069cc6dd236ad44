"""Claims of Fig. 1: who stays in E, who leaves it, how far, and what makes them leave."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symscope.runs import Claim, RunTables
from symscope_papers.dynamics.strategies.config import Setting, lower_precision

if TYPE_CHECKING:
    import pandas as pd

ROUNDING = {"mixed": 1e-6, "single": 1e-6, "double": 1e-12}  # of |A - A_0|
ORDERS = 100.0  # the least that "several orders of magnitude" can mean
SMALL = "The ratio grows with the number of mini-batches; it belongs to the paper's own size."
AUTHORS_HOURS = 75.0  # on a Tesla T4, all three experiments (App. C)


def common_claims(config: Setting, tables: RunTables) -> list[Claim]:
    """What all three experiments claim."""
    ends = final_rows(tables)
    return [
        *_equivariant_claims(config, ends),
        _closer(ends),
        *_noise_claims(config, tables, ends),
        *_precision_claims(config, tables),
        *_time_claims(tables),
    ]


def final_rows(tables: RunTables) -> dict[str, pd.DataFrame]:
    """The last epoch of every strategy, runs as index."""
    paths = tables["paths"]
    last = paths[paths["epoch"] == paths["epoch"].max()]
    return {str(name): part.set_index("run").sort_index() for name, part in last.groupby("strategy")}


def orders_claims(tables: RunTables, *, whole: bool) -> list[Claim]:
    """AUGMENTED is orders of magnitude nearer to E than NOMINAL (permutations and translations)."""
    ends = final_rows(tables)
    statement = "The shift of AUGMENTED orthogonal to E is smaller than NOMINAL's by orders of magnitude."
    quote = "the shift orthogonal to E is smaller by several orders of magnitude"
    ratio, squared = strategy_ratio(ends, "augmented"), strategy_ratio(ends, "augmented", "published")
    stated = (
        Claim.at_least(
            statement,
            "Sec. 5.1",
            ratio,
            ORDERS,
            quote=quote,
            reading="Norms, as the text and the axis of Fig. 1 say; at least two orders, the least that the "
            "words can mean.",
            why="Mean |A_E⊥| of NOMINAL over that of AUGMENTED at the end. The authors' scripts plot squares "
            "of norms, which doubles the orders.",
        )
        if whole
        else Claim.not_checked(statement, "Sec. 5.1", SMALL, quote=quote)
    )
    return [
        stated,
        Claim.quantified(
            "NOMINAL over AUGMENTED, mean |A_E⊥| at the end.",
            "Sec. 5.1",
            ratio,
            quote=quote,
            uncertainty=_scatter(ends, "drift"),
        ),
        Claim.quantified(
            "NOMINAL over AUGMENTED in what the authors' scripts plot as |A_E⊥|: its square.",
            "Fig. 1, authors' scripts",
            squared,
            quote=quote,
            uncertainty=_scatter(ends, "published"),
        ),
    ]


def strategy_ratio(ends: dict[str, pd.DataFrame], name: str, what: str = "drift") -> float:
    """NOMINAL over another strategy, means over runs; huge where the other has not moved."""
    return float(ends["nominal"][what].mean() / max(ends[name][what].mean(), np.finfo(float).tiny))


def same_order(value: float, stated: float) -> bool:
    """Whether a number rounds to the same power of ten.

    >>> same_order(3.5e-8, 1e-7), same_order(2.5e-4, 1e-7)
    (True, False)
    """
    return value > 0 and abs(math.log10(value / stated)) <= 0.5


def _scatter(ends: dict[str, pd.DataFrame], what: str) -> str:
    each = ends["nominal"][what] / ends["augmented"][what].clip(lower=np.finfo(float).tiny)
    return f"from {each.min():.3g} to {each.max():.3g} over {len(each)} runs"


def _equivariant_claims(config: Setting, ends: dict[str, pd.DataFrame]) -> list[Claim]:
    rounding = ROUNDING[config.precision]
    inside, augmented = ends["equivariant"], ends["augmented"]
    apart = (augmented["travelled"] / inside["travelled"] - 1).abs()
    return [
        Claim.at_most(
            "EQUIVARIANT stays in E.",
            "Sec. 5",
            float((inside["drift"] / inside["travelled"]).max()),
            rounding,
            quote="produces networks which are manifestly equivariant",
            why="Largest |A_E⊥| / |A - A0| of all runs at the end; threshold: rounding."
            + " The scripts project the last layer, not its gradient, so that it ends a step off E."
            * config.scripts,
        ),
        Claim.at_least(
            "AUGMENTED leaves E in every run.",
            "Sec. 5.1",
            float((augmented["drift"] / augmented["travelled"]).min()),
            10 * rounding,
            quote="the equivariant submanifold is consistently unstable (i) in our repeated augmented "
            "experiments",
            reading="Unstable read as: every run leaves E by more than rounding. In the sense of Sec. 4.2, "
            "growth along negative curvature, it is not what is seen here: the drift is sampling noise "
            "(below).",
            why="Smallest |A_E⊥| / |A - A0| of all runs at the end; threshold: ten times rounding.",
        ),
        Claim.quantified(
            "Relative difference of |A - A0| between AUGMENTED and EQUIVARIANT at the end.",
            "Sec. 4.2",
            float(apart.mean()),
            quote="the dynamics of the part of A in E for the two models are almost equal",
            uncertainty=f"at most {apart.max():.2g} over {len(apart)} runs",
        ),
    ]


def _closer(ends: dict[str, pd.DataFrame]) -> Claim:
    nearer = ends["augmented"]["drift"] < ends["nominal"]["drift"]
    return Claim.from_check(
        "AUGMENTED moves out of E more slowly than NOMINAL.",
        "Sec. 5 (ii)",
        bool(nearer.all()),
        measured=f"nearer to E at the end in {int(nearer.sum())} of {len(nearer)} runs",
        threshold="all",
        quote="The dynamics in E^⊥ for R_aug should (initially) be much 'slower' than in E, in particular "
        "compared to the nominal gradient flow of R.",
        reading="Only the direction is judged; how much slower is measured below.",
    )


def _noise_claims(config: Setting, tables: RunTables, ends: dict[str, pd.DataFrame]) -> list[Claim]:
    step = tables["noise"].set_index("run")["step"].sort_index()
    ratio = ends["augmented"]["drift"] / (config.rate * np.sqrt(config.epochs) * step)
    return [
        Claim.beyond(
            "Drift of AUGMENTED over that of the noise of sampling group elements.",
            float(np.sqrt((ratio**2).mean())),
            expected="1 if it is that noise and nothing else; nothing is fitted",
            uncertainty=f"root mean square over {len(ratio)} runs, from {ratio.min():.2f} to "
            f"{ratio.max():.2f}",
            why="Predicted from the gradients of mini-batches at A0, as a random walk: rate · sqrt(epochs · "
            "mean |Π⊥∇R_b|² / (batches · passes)).",
        )
    ]


def _precision_claims(config: Setting, tables: RunTables) -> list[Claim]:
    if "precision" not in tables:
        return []
    lower, table = lower_precision(config), tables["precision"]
    moving = table[table["strategy"] != "equivariant"]
    gap = max(
        float((moving[f"{what}_{lower}"] / moving[f"{what}_double"] - 1).abs().max())
        for what in ("drift", "travelled")
    )
    return [
        Claim.beyond(
            f"Largest relative difference of |A_E⊥| and |A - A0| between {lower} and double precision.",
            gap,
            expected="small against 1: drift is not rounding",
            uncertainty=f"over {table['run'].nunique()} runs and {table['epoch'].max()} epochs from the same "
            "A0 with the same elements",
        )
    ]


def _time_claims(tables: RunTables) -> list[Claim]:
    work = tables["work"]
    seconds, floor = work["seconds"].sum(), work["floor_seconds"].sum()
    return [
        Claim.not_testable(
            "The three experiments took the authors 75 GPU hours.",
            "App. C",
            "It is about their machine.",
            quote="The experiments presented here took in total about 75 GPU hours.",
        ),
        Claim.beyond(
            "Hours of training here.",
            float(seconds / 3600),
            why=f"{work['flops'].sum():.2g} operations in products; in one large product this machine would "
            f"do them in {floor:.3g} s, {floor / seconds:.0%} of {seconds:.3g} s.",
        ),
    ]
