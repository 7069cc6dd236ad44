"""Claims of `dynamics/ordinary`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscope.runs import Claim, RunTables
from symscope_papers.dynamics.ordinary.config import Ordinary

if TYPE_CHECKING:
    import pandas as pd

ROUNDING = 1e-9  # relative, of a function of several layers in float64
HOPE = "the hope is that model will 'automatically' infer invariances from the data"


def judge_claims(config: Ordinary, tables: RunTables) -> list[Claim]:
    """Whether augmentation leads to E, to an equivariant function, and what it costs."""
    table = tables["ordinary"]
    last = table[table["step"] == table["step"].max()]
    first = table[table["step"] == 0]
    ends = {str(name): part.set_index(["task", "run"]) for name, part in last.groupby("strategy")}
    starts = {str(name): part.set_index(["task", "run"]) for name, part in first.groupby("strategy")}
    return [
        _not_guaranteed(config, ends["augmented"]),
        *_approach(starts["augmented"], ends),
        *_cost(config, ends),
    ]


def _not_guaranteed(config: Ordinary, end: pd.DataFrame) -> Claim:
    off = end["error"] > ROUNDING
    return Claim.from_check(
        "Augmented training from an ordinary start does not always end in an exactly equivariant function.",
        "Sec. 1",
        bool(off.any()),
        measured=f"{int(off.sum())} of {len(off)} networks are not, by {end['error'].min():.2g} or more",
        threshold="at least one",
        quote="the augmentation strategy is by no means guaranteed to achieve a model which is exactly "
        "invariant",
        reading="One network is enough; invariant or equivariant as the task asks, after "
        f"{config.steps} steps.",
    )


def _approach(start: pd.DataFrame, ends: dict[str, pd.DataFrame]) -> list[Claim]:
    end = ends["augmented"]
    ratio = end["outside"] / start["outside"]
    share = end["outside"] / (end["outside"] ** 2 + end["inside"] ** 2) ** 0.5
    return [
        Claim.quantified(
            "|A_E⊥| after augmented training over that at the start.",
            "Sec. 6",
            f"{ratio.mean():.4f}",
            quote="there is nothing stopping the augmented gradient flow from leaving E – although "
            "initialized very near it – or from coming back again",
            uncertainty=f"from {ratio.min():.4f} to {ratio.max():.4f} over {len(ratio)} networks",
            why=f"At the end it is {share.mean():.2g} of |A|.",
        ),
        *[
            Claim.quantified(
                f"Equivariance error of the function after {words} training, over that at the start.",
                "Sec. 1",
                float((ends[name]["error"] / start["error"]).mean()),
                quote=HOPE,
                uncertainty=f"mean over {len(start)} networks; the errors themselves are "
                f"{ends[name]['error'].min():.2g} to {ends[name]['error'].max():.2g} of the outputs' size",
                why="On samples held out.",
            )
            for name, words in (("augmented", "augmented"), ("nominal", "nominal"))
        ],
    ]


def _cost(config: Ordinary, ends: dict[str, pd.DataFrame]) -> list[Claim]:
    moved = {name: end.groupby("task", sort=False)["moved_risk"].mean() for name, end in ends.items()}
    words = "; ".join(
        f"{task} "
        + ", ".join(f"{name} {moved[name][task]:.3g}" for name in ("equivariant", "augmented", "nominal"))
        for task in config.tasks
    )
    return [
        Claim.quantified(
            "Risk on held-out samples under random elements after the same number of steps.",
            "Sec. 1",
            words,
            quote="augmentation generalentails an inefficient use of parameters and an increase in model "
            "complexity and training required",
            why=f"A step of augmented training takes {config.passes} times the gradients of the others; the "
            "layers of equivariant training have one number where the others have as many as the group "
            "ties together.",
        )
    ]
