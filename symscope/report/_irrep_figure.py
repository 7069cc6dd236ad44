"""Pictures of which irreps hold a missing point in place, and which do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from symscope.errors import InputError
from symscope.report._style import COLOURS, FAINT, INK, WRONG, new_figure, style


def irrep_figure(rows: Sequence[Mapping[str, Any]], *, title: str) -> Any:
    """Bars of each irrep's share of the stiffness, with a mark where an equally strong kernel would be.

    Irreps whose bar stays below its mark hold generalisation back and are drawn in the colour of errors; the
    trivial one, the labels' own, is grey.

    Args:
        rows: As from `spectral.LeaveOut.table()`: `irrep`, `share`, `weight`, `trivial`, `limits`.
        title: Above the axes.

    Returns:
        A matplotlib figure.

    Raises:
        InputError: No rows, or rows without those columns.

    >>> rows = [{"irrep": "1a", "share": 0.9, "weight": 0.5, "trivial": True, "limits": False},
    ...         {"irrep": "1b", "share": 0.1, "weight": 0.5, "trivial": False, "limits": True}]
    >>> [round(float(bar.get_height()), 2) for bar in irrep_figure(rows, title="C2").axes[0].patches]
    [0.9, 0.1]
    """
    needed = ("irrep", "share", "weight", "trivial", "limits")
    if not rows or any(key not in row for row in rows for key in needed):
        raise InputError(
            f"expected one row or more with the columns {', '.join(needed)}; got {list(rows)[:2]}"
        )
    figure = new_figure(min(12.0, 4.5 + 0.3 * len(rows)), 3.6)
    with style():
        axes = figure.subplots()
        places = range(len(rows))
        axes.bar(
            places,
            [float(row["share"]) for row in rows],
            color=[FAINT if row["trivial"] else WRONG if row["limits"] else COLOURS[0] for row in rows],
            width=0.75,
        )
        axes.scatter(
            places,
            [float(row["weight"]) for row in rows],
            marker="_",
            s=120,
            color=INK,
            zorder=3,
            label="if the kernel were equally strong everywhere",
        )
        names = [str(row["irrep"]) for row in rows]
        step = 1 if len(rows) <= 24 else -(-len(rows) // 24)
        axes.set_xticks(list(places)[::step], names[::step], rotation=60, ha="right", fontsize=8)
        axes.set(ylabel="share of the stiffness", title=title)
        figure.legend(loc="outside lower center", fontsize=8)
    return figure
