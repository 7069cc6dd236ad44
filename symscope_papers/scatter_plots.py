"""Scatter plots that experiments share: prediction against truth, dots coloured by correctness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from symscope.report import FAINT, RIGHT, WRONG, new_figure, style
from symscope_papers.chart_parts import shared_legend


def agreement(table: pd.DataFrame, one: str, other: str) -> tuple[float, float]:
    """Pearson's r and the mean absolute difference of two columns.

    >>> agreement(pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": [1.0, 2.0, 3.0]}), "a", "b")
    (1.0, 1.0)
    """
    return float(table[one].corr(table[other])), float((table[one] - table[other]).abs().mean())


def scatter_grid(
    panels: Sequence[tuple[str, pd.DataFrame]],
    x: str,
    y: str,
    labels: tuple[str, str],
    note: Callable[[pd.DataFrame], str] | None = None,
    columns: int = 3,
) -> Any:
    """One panel for each part: a predicted error against a measured one, dots coloured by correctness.

    Args:
        panels: Title and table of each panel.
        x: Column of the predicted error.
        y: Column of the measured error: below 1 the prediction is right.
        labels: Labels of the two axes.
        note: Text of a panel; Pearson's r and the mean absolute difference when not given.
        columns: Number of panels side by side.

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
        shared_legend(figure, grid.flat[: len(panels)])
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
    axes.plot(span, span, color=FAINT, linewidth=1, label="equal")
    if span[1] > 1:
        axes.axvline(1, color=FAINT, linewidth=0.8, linestyle=":")
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
