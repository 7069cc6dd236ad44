"""Claims of `discovery/number`: answers to questions that the paper leaves open."""

from __future__ import annotations

import pandas as pd

from symscope.runs import Claim, RunTables
from symscope_papers.discovery.number.config import Number

NORMAL = "normal"


def judge_claims(config: Number, tables: RunTables) -> list[Claim]:
    """The measurements of a run; the paper states nothing of them."""
    table = tables["counts"]
    return [
        *[_training(table[table["network"] == name], name, config) for name in config.networks],
        *[
            _symmetric(table, name, kind)
            for name in config.networks
            for kind in config.data
            if kind != NORMAL and NORMAL in config.data
        ],
    ]


def _counts(rows: pd.Series) -> str:
    """One number where all runs agree, otherwise the least and the most."""
    least, most = int(rows.min()), int(rows.max())
    return str(least) if least == most else f"{least} to {most}"


def _training(rows: pd.DataFrame, network: str, config: Number) -> Claim:
    first, last = config.steps[0], config.steps[-1]
    start, end = (rows[rows["step"] == step] for step in (first, last))
    changed = sum(
        int(a != b) for a, b in zip(start["directions"].tolist(), end["directions"].tolist(), strict=True)
    )
    return Claim.beyond(
        f"Trainings of {network} that end with another number of directions that keep every loss.",
        f"{changed} of {len(start)}",
        source="Sec. 6",
        why=f"Of {int(rows['parameters'].iloc[0])} parameters, {_counts(start['directions'])} at step "
        f"{first}, {_counts(end['directions'])} at step {last}, all kinds of data; loss "
        f"{start['loss'].mean():.2g} to {end['loss'].mean():.2g}. Directions along which losses change by "
        "less than rounding count.",
    )


def _symmetric(table: pd.DataFrame, network: str, kind: str) -> Claim:
    mine = table[(table["network"] == network) & (table["step"] == table["step"].min())]
    plain, symmetric = (mine[mine["data"] == name]["directions"] for name in (NORMAL, kind))
    return Claim.beyond(
        f"Directions that keep every loss of {network} with inputs {kind}, at the start.",
        _counts(symmetric),
        expected=f"{_counts(plain)} with normal inputs",
        uncertainty=f"(all of {len(symmetric)} seeds)",
        source="Sec. 6",
    )
