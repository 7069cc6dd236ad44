"""Tables of pairs for each number of angles, and the axis these are drawn on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from symscope_papers.chart_parts import doubling_axis


def by_angles(table: pd.DataFrame) -> dict[int, pd.DataFrame]:
    """The part of a table for each number of angles, ascending.

    >>> {n: len(part) for n, part in by_angles(pd.DataFrame({"angles": [8, 4, 8]})).items()}
    {4: 1, 8: 2}
    """
    return {n: table[table["angles"] == n] for n in sorted(table["angles"].unique().tolist())}


def angle_axis(axes: Any, angles: Iterable[int]) -> None:
    """A logarithmic axis with the numbers of angles written out."""
    doubling_axis(axes, angles, "angles n")
