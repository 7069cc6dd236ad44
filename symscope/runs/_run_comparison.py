"""Two runs side by side: what was asked, the claims, and how far the tables differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from symscope.errors import InputError
from symscope.runs._claims import Claim
from symscope.runs._outcome import RunOutcome

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True)
class RunComparison:
    """What two runs have in common and where they differ.

    Attributes:
        names: The two folders' names.
        settings: `(key, in A, in B)` for everything asked differently.
        claims: `(statement, in A, in B)`: measured value and verdict of each claim.
        tables: `(table, column, difference)`; the difference is in words.
        same: Whether every table is equal, bit for bit.
    """

    names: tuple[str, str]
    settings: tuple[tuple[str, str, str], ...]
    claims: tuple[tuple[str, str, str], ...]
    tables: tuple[tuple[str, str, str], ...]
    same: bool


def compare_runs(a: Path, b: Path) -> RunComparison:
    """Compare two finished runs of one experiment.

    Args:
        a: A run folder.
        b: Another.

    Raises:
        InputError: Not run folders, not finished, or of different experiments.
    """
    runs = [RunOutcome.from_folder(path) for path in (a, b)]
    asked = [run.description() for run in runs]
    if asked[0]["experiment"] != asked[1]["experiment"]:
        raise InputError(
            f"only runs of one experiment can be compared; {a} is {asked[0]['experiment']}, {b} is "
            f"{asked[1]['experiment']}"
        )
    tables = [run.tables() for run in runs]
    rows = [
        (name, *difference)
        for name in sorted({*tables[0], *tables[1]})
        for difference in _differences(tables[0].get(name), tables[1].get(name))
    ]
    return RunComparison(
        (a.name, b.name),
        tuple(_settings(*asked)),
        tuple(_claims(*[run.claims for run in runs])),
        tuple(rows),
        all(difference == "equal" for _, _, difference in rows),
    )


def _settings(a: dict[str, Any], b: dict[str, Any]) -> list[tuple[str, str, str]]:
    flat = [
        {**{key: run[key] for key in ("symscope", "version", "seed", "device")}, **run["config"]}
        for run in (a, b)
    ]
    keys = list(dict.fromkeys([*flat[0], *flat[1]]))
    return [
        (key, str(flat[0].get(key, "–")), str(flat[1].get(key, "–")))
        for key in keys
        if (key in flat[0], flat[0].get(key)) != (key in flat[1], flat[1].get(key))
    ]


def _claims(a: Sequence[Claim], b: Sequence[Claim]) -> list[tuple[str, str, str]]:
    by_statement = [{claim.statement: claim for claim in claims} for claims in (a, b)]
    statements = list(dict.fromkeys([*by_statement[0], *by_statement[1]]))
    return [
        (statement, *[_in_words(claims.get(statement)) for claims in by_statement])  # type: ignore[misc]
        for statement in statements
    ]


def _in_words(claim: Claim | None) -> str:
    return "–" if claim is None else f"{claim.outcome} ({claim.measured_text})"


def _differences(a: pd.DataFrame | None, b: pd.DataFrame | None) -> list[tuple[str, str]]:
    if a is None or b is None:
        return [("(whole table)", f"only in {'A' if b is None else 'B'}")]
    if len(a) != len(b):
        return [("(rows)", f"{len(a)} and {len(b)}: not compared")]
    names = list(dict.fromkeys([*a.columns, *b.columns]))
    return [(str(name), _column(a, b, name)) for name in names]


def _column(a: pd.DataFrame, b: pd.DataFrame, name: Any) -> str:
    if name not in a or name not in b:
        return f"only in {'A' if name in a else 'B'}"
    left, right = a[name], b[name]
    if left.equals(right):
        return "equal"
    if left.dtype.kind in "if" and right.dtype.kind in "if":
        gap = (left - right).abs()
        return f"largest difference {gap.max():.3g} in row {int(gap.fillna(-1).argmax())}"
    return f"{int((left != right).sum())} of {len(left)} values differ"
