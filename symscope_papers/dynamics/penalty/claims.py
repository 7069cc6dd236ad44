"""Claims of `dynamics/penalty`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscope.runs import Claim, RunTables
from symscope_papers.dynamics.penalty.config import Penalty

if TYPE_CHECKING:
    import pandas as pd

RUN = ["group", "kind", "problem", "multiple"]


def judge_claims(config: Penalty, tables: RunTables) -> list[Claim]:
    """Whether a penalty stabilises E, whether training then finds the minimum, and how much is enough."""
    paths = tables["paths"]
    runs = paths.groupby(RUN)
    # whether a distance grows at the end, when what is stable anyway has gone
    last = runs["distance"].agg(before=lambda d: d.iloc[-2], last="last").reset_index()
    leaves = last["last"] > last["before"]
    enough = last["multiple"] > 1
    return [
        _stabilised(leaves[enough]),
        _found(runs["to_minimum"].agg(["first", "last"]).reset_index()),
        *_measured(config, tables, leaves[~enough]),
    ]


def _stabilised(leaves: pd.Series) -> Claim:
    statement = "A sufficient penalty on E_perp keeps augmented training near E at minima it would leave."
    quote = (
        "if we can control the potential instability of the non-equivariant subspace … One way to accomplish "
        "the latter would be to introduce a penalty proportional to ‖A_{E^⊥}‖²"
    )
    if leaves.empty:
        return Claim.not_checked(statement, "Sec. 6", "No penalty of this run is sufficient.", quote=quote)
    return Claim.from_check(
        statement,
        "Sec. 6",
        not bool(leaves.any()),
        measured=f"the distance from E falls in {int((~leaves).sum())} of {len(leaves)} trainings",
        threshold="all",
        quote=quote,
        reading="Sufficient: more than minus half the lowest eigenvalue outside E. The paper does not say "
        "how much; with less the distance grows (below).",
    )


def _found(ends: pd.DataFrame) -> Claim:
    statement = "With a sufficient penalty, training from beside an equivariant minimum finds that minimum."
    quote = "it will find the same equivariant minima as its equivariant counterpart"
    ends = ends[ends["multiple"] > 1]
    if ends.empty:
        return Claim.not_checked(statement, "Sec. 6", "No penalty of this run is sufficient.", quote=quote)
    nearer = ends["last"] < ends["first"]
    return Claim.from_check(
        statement,
        "Sec. 6",
        bool(nearer.all()),
        measured=f"nearer to the minimum in {int(nearer.sum())} of {len(nearer)} trainings",
        threshold="all",
        quote=quote,
        reading="From steps of 1e-7 inside and outside E at strict minima of R_eqv; far from them nothing "
        "is promised.",
        why=f"Distance left at the end: {(ends['last'] / ends['first']).max():.2g} or less of the first.",
    )


def _measured(config: Penalty, tables: RunTables, leaves: pd.Series) -> list[Claim]:
    table = tables["penalties"]
    unstable = table[table["verdict"] == "unstable"]
    ratio = unstable["measured"] / unstable["predicted"]
    return [
        Claim.beyond(
            "Smallest stabilising penalty over minus half the lowest eigenvalue of Hess R_aug on E_perp.",
            float(ratio.mean()),
            expected="1",
            uncertainty=f"from {ratio.min():.4g} to {ratio.max():.4g} over {len(unstable)} minima, each to "
            f"{3 / 2 ** (config.bisections + 1):.2g}",
        ),
        Claim.beyond(
            "Trainings with a smaller penalty, or none, that leave E.",
            f"{int(leaves.sum())} of {len(leaves)}",
            expected="all",
        ),
        Claim.beyond(
            "Lowest curvature inside E at the minima tested.",
            float(table["lowest_inside"].min()),
            expected="positive: at a saddle inside E no penalty outside it decides",
        ),
    ]
