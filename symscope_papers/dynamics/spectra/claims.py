"""Claims of `dynamics/spectra`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from symscope.runs import Claim, RunTables
from symscope_papers.dynamics.spectra.config import Spectra
from symscope_papers.dynamics.translation.config import Translation

if TYPE_CHECKING:
    import pandas as pd

TIME = Translation.epochs * Translation.rate  # of the paper's training: 50 epochs at 1e-5
UNSTABLE = "the equivariant submanifold is consistently unstable (i) in our repeated augmented experiments"


def judge_claims(config: Spectra, tables: RunTables) -> list[Claim]:
    """Whether E is unstable where Fig. 1 was drawn, and what it can do within its epochs."""
    table = tables["spectra"]
    start = table[table["moment"] == "start"]
    growth = -start["lowest"] * TIME
    return [
        _unstable(config, start),
        Claim.quantified(
            "Growth of a deviation from E within the paper's training, exponent of e: minus the lowest "
            "eigenvalue outside E times 50 epochs at 1e-5.",
            "Sec. 4.2",
            float(growth.max()),
            quote="it may diverge from the equivariant subspace E due to noise and numerical errors as soon "
            "as ∇²R_aug(x) restricted to E^⊥ has negative eigenvalues",
            uncertainty=f"at most, over {len(start)} starts (least {growth.min():.2g})",
            why="Far below 1: what is seen in Fig. 1 is noise that adds up, not instability that grows.",
        ),
        *[_ends(str(task), rows) for task, rows in table.groupby("task", sort=False)],
    ]


def _unstable(config: Spectra, start: pd.DataFrame) -> Claim:
    statement = (
        "At every start of the networks of Fig. 1 the augmented risk has negative curvature outside E."
    )
    if config.sizes != "paper":
        why = "These are not the paper's networks; of small ones of the same make "
        why += f"{int((start['verdict'] == 'unstable').sum())} of {len(start)} are unstable."
        return Claim.not_checked(statement, "Sec. 5.1", why, quote=UNSTABLE)
    unstable = start["verdict"] == "unstable"
    claim = Claim.from_check(
        statement,
        "Sec. 5.1",
        bool(unstable.all()),
        measured=f"{int(unstable.sum())} of {len(unstable)} starts",
        threshold="all",
        quote=UNSTABLE,
        reading="Unstable in the sense of Sec. 4.2, by the spectrum; that the drift of Fig. 1 shows it is "
        "another reading, which the experiments of Fig. 1 judge.",
        why="By network: "
        + ", ".join(
            f"{task} {int((rows['verdict'] == 'unstable').sum())} of {len(rows)}"
            for task, rows in start.groupby("task", sort=False)
        )
        + ". That a run closed with one start of each is judged was settled after results had been seen.",
    )
    return replace(claim, complete=set(start["task"]) == set(config.tasks))


def _ends(task: str, rows: pd.DataFrame) -> Claim:
    parts = []
    for moment, part in rows.groupby("moment", sort=False):
        spread = f" (from {part['lowest'].min():.2g})" if len(part) > 1 else ""
        parts.append(f"{moment}: {part['lowest'].mean():.3g}{spread}, highest {part['highest'].mean():.3g}")
    trained = rows[rows["moment"] == "trained"]
    error = rows["standard_error"].max()
    return Claim.beyond(
        f"Lowest and highest eigenvalue of Hess R_aug outside E, {task} network.",
        "; ".join(parts),
        uncertainty=f"standard error of the lowest at most {error:.2g}" if error > 0 else "all elements",
        why=f"{int((trained['verdict'] == 'unstable').sum())} of {len(trained)} are unstable after training "
        "inside E, too.",
        source="Sec. 6",
    )
