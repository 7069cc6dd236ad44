"""Panels that the figures of pairs of orbits share: scatters coloured by correctness, inverse spectra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from symscope.report import COLOURS, RIGHT, WRONG, new_figure, style

NUMERATOR, DENOMINATOR = COLOURS[0], COLOURS[1]
Panel = tuple[str, pd.DataFrame]


def agreement(table: pd.DataFrame, one: str, other: str) -> tuple[float, float]:
    """Pearson's r and the mean absolute difference of two columns.

    >>> agreement(pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": [1.0, 2.0, 3.0]}), "a", "b")
    (1.0, 1.0)
    """
    return float(table[one].corr(table[other])), float((table[one] - table[other]).abs().mean())


def by_angles(table: pd.DataFrame) -> dict[int, pd.DataFrame]:
    """The part of a table for each number of angles, ascending.

    >>> {n: len(part) for n, part in by_angles(pd.DataFrame({"angles": [8, 4, 8]})).items()}
    {4: 1, 8: 2}
    """
    return {n: table[table["angles"] == n] for n in sorted(table["angles"].unique().tolist())}


def angle_axis(axes: Any, angles: Sequence[int]) -> None:
    """A logarithmic axis with the numbers of angles written out."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(sorted(angles), [str(n) for n in sorted(angles)])
    axes.set_xlabel("angles n")


def scatter_grid(
    panels: Sequence[Panel],
    x: str,
    y: str,
    labels: tuple[str, str],
    note: Callable[[pd.DataFrame], str] | None = None,
    columns: int = 3,
) -> Any:
    """One panel for each part: a predicted error against a measured one, dots coloured by correctness.

    Args:
        panels: Title and table of each.
        x: Column of the predicted error.
        y: Column of the measured error: below 1 the prediction is right.
        labels: Of the two axes.
        note: What to write into a panel; Pearson's r and the mean absolute difference when not given.
        columns: Panels side by side.

    Returns:
        The figure.
    """
    words = note or _agreement_note(x, y)
    rows = -(-len(panels) // columns)
    wide = min(columns, len(panels))
    figure = new_figure(max(2.9 * wide, 4.6), 2.65 * rows + 0.75)
    with style():
        grid = figure.subplots(rows, wide, squeeze=False)
        for axes, (title, part) in zip(grid.flat, panels, strict=False):
            correctness_scatter(axes, part, x, y)
            axes.set_title(title)
            place = {"xy": (0.97, 0.04), "xycoords": "axes fraction", "ha": "right", "va": "bottom"}
            axes.annotate(words(part), **place, fontsize=8.5)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        figure.supxlabel(labels[0], fontsize=10.5)
        figure.supylabel(labels[1], fontsize=10.5)
        _legend(figure, grid.flat[: len(panels)])
    return figure


def _agreement_note(x: str, y: str) -> Callable[[pd.DataFrame], str]:
    def note(part: pd.DataFrame) -> str:
        r, gap = agreement(part, x, y)
        return f"r = {r:.3f}\nmean gap {gap:.2g}"

    return note


def correctness_scatter(axes: Any, part: pd.DataFrame, x: str, y: str) -> None:
    """Dots, the line where both are equal, and the borders at 1 beyond which predictions are wrong."""
    from matplotlib.ticker import MaxNLocator

    both = pd.concat([part[x], part[y]])
    low, high = min(0.0, float(both.min())), float(both.max())
    margin = 0.06 * (high - low)
    span = (low - margin if low < 0 else 0.0, high + margin)
    axes.plot(span, span, color="#8b939c", linewidth=1, label="equal")
    if span[1] > 1:
        axes.axvline(1, color="#8b939c", linewidth=0.8, linestyle=":")
        axes.axhline(1, color=WRONG, linewidth=0.9, linestyle="--", label="1: wrong above")
    coloured_dots(axes, part, x, y, y)
    ticks = [
        t for t in MaxNLocator(nbins=4, steps=[1, 2, 5, 10]).tick_values(*span) if span[0] <= t <= span[1]
    ]
    axes.set(xlim=span, ylim=span, xticks=ticks, yticks=ticks)  # fixed: the layout is made before drawing
    axes.set_box_aspect(1)


def coloured_dots(axes: Any, part: pd.DataFrame, x: str, y: str, judge: str) -> None:
    """Dots of the colour of right where the error in column `judge` is below 1, of wrong where not."""
    right = part[judge] < 1
    for chosen, colour, name, mark in (
        (right, RIGHT, "prediction right", "o"),
        (~right, WRONG, "prediction wrong", "^"),
    ):
        if bool(chosen.any()):
            some = part[chosen]
            size = 14 if len(part) < 200 else 7
            axes.scatter(some[x], some[y], s=size, marker=mark, color=colour, alpha=0.55, lw=0, label=name)


def _legend(figure: Any, panels: Any) -> None:
    """One legend under all panels, every name once."""
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    figure.legend(list(found.values()), list(found), loc="outside upper center", ncols=len(found), fontsize=9)


def inverse_panels(parts: Sequence[tuple[str, pd.DataFrame]]) -> Any:
    """The picture of Eq. 7 for some pairs: a rectangle of height 1/lambda_N, the area under 1/lambda.

    Args:
        parts: Title, and a table with columns `frequency` (0 .. n) and `inverse_lambda`.

    Returns:
        The figure.
    """
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(3.0 * len(parts), 3.2)
    with style():
        panels = figure.subplots(1, len(parts), squeeze=False)[0]
        for axes, (title, part) in zip(panels, parts, strict=True):
            last = part["frequency"].max()
            height = float(part.loc[part["frequency"] == last, "inverse_lambda"].iloc[0])
            axes.fill_between(part["frequency"], part["inverse_lambda"], color=DENOMINATOR, alpha=0.35)
            axes.plot(part["frequency"], part["inverse_lambda"], color=DENOMINATOR)
            axes.fill_between(
                [0, last], height, facecolor="none", edgecolor=NUMERATOR, hatch="///", linewidth=1.5
            )
            axes.set(title=title, xlabel="frequency", xlim=(0, last))
            axes.set_ylim(bottom=0)
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        panels[0].set_ylabel("inverse eigenvalue 1/λ")
    return figure
