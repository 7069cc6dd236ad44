"""Tables of pairs for each number of angles: parts, agreement of two columns, and these in words."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from symscope_papers.scatter_plots import agreement


def by_angles(table: pd.DataFrame) -> dict[int, pd.DataFrame]:
    """The part of a table for each number of angles, ascending.

    >>> {n: len(part) for n, part in by_angles(pd.DataFrame({"angles": [8, 4, 8]})).items()}
    {4: 1, 8: 2}
    """
    return {n: table[table["angles"] == n] for n in sorted(table["angles"].unique().tolist())}


def correlations(table: pd.DataFrame, one: str, other: str) -> dict[int, float]:
    """Pearson's r of two columns for each number of angles.

    >>> correlations(pd.DataFrame({"angles": [4] * 3, "a": [0.0, 1.0, 2.0], "b": [1.0, 2.0, 3.0]}), "a", "b")
    {4: 1.0}
    """
    return {n: agreement(part, one, other)[0] for n, part in by_angles(table).items()}


def distances(table: pd.DataFrame, one: str, other: str) -> dict[int, float]:
    """The mean absolute difference of two columns for each number of angles.

    >>> distances(pd.DataFrame({"angles": [4, 4], "a": [0.0, 1.0], "b": [3.0, 2.0]}), "a", "b")
    {4: 2.0}
    """
    return {n: agreement(part, one, other)[1] for n, part in by_angles(table).items()}


def at_angles(*values: Mapping[int, float], form: str = ".3f", between: str = ", ") -> str:
    """Quantities for each number of angles, in words.

    Args:
        values: One or more quantities by number of angles.
        form: Format of a number, or one for each quantity, divided by spaces.
        between: What stands between the quantities of one number of angles.

    >>> at_angles({4: 0.5, 8: 0.25}, form=".2f")
    '0.50 at n = 4, 0.25 at n = 8'
    >>> at_angles({4: 0.5}, {4: 0.0123}, form=".2f .2g", between=" and ")
    '0.50 and 0.012 at n = 4'
    """
    forms = form.split() if " " in form else [form] * len(values)
    return ", ".join(
        between.join(f"{one[n]:{how}}" for one, how in zip(values, forms, strict=True)) + f" at n = {n}"
        for n in values[0]
    )
