"""What the figures of pairs of orbits share: scatters for each number of angles, and geometry."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

from symscope_papers.chart_parts import doubling_axis
from symscope_papers.scatter_plots import agreement, coloured_dots, scatter_grid
from symscope_papers.spectral.pairs.angles import by_angles, correlations

EXACT = "exact error, upright image missing"
GEOMETRY = (  # columns, and labels: what numerator and denominator of Eq. 7 mean in input space
    ("separation", "lambda_n", "orbit separation (squared)", r"$\lambda_N$"),
    ("density", "mean_inverse", "orbit density (1 / radius)", "mean of 1/λ"),
)


def angle_axis(axes: Any, angles: Iterable[int], label: str = "angles n") -> None:
    """A logarithmic axis with the numbers of angles written out."""
    doubling_axis(axes, angles, label)


def angle_scatter(
    table: pd.DataFrame,
    x: str,
    y: str,
    labels: tuple[str, str],
    note: Callable[[pd.DataFrame], str] | None = None,
) -> tuple[Any, str]:
    """A predicted error against a measured one, a panel for each number of angles, coloured by correctness.

    Args:
        table: Pairs at every number of angles.
        x: Column of the predicted error.
        y: Column of the measured error.
        labels: Labels of the two axes.
        note: Text of a panel, as in `scatter_grid`.

    Returns:
        The figure, and Pearson's r of every panel in words.
    """
    panels = [(f"n = {n}", part) for n, part in by_angles(table).items()]
    figure = scatter_grid(panels, x, y, labels, note, columns=2 if len(panels) == 4 else 3)
    return figure, "; ".join(f"n = {n}: r {r:.3f}" for n, r in correlations(table, x, y).items())


def draw_geometry(panels: Iterable[Any], part: pd.DataFrame, title: str = "r = {:.2f}") -> list[float]:
    """`lambda_N` against separation and the mean inverse spectrum against density, in two panels.

    Args:
        panels: Two axes to draw on.
        part: Pairs at one number of angles.
        title: Title of a panel, with a place for Pearson's r.

    Returns:
        Pearson's r of both.
    """
    values = []
    for axes, (x, y, *labels) in zip(panels, GEOMETRY, strict=True):
        coloured_dots(axes, part, x, y, "exact")
        values.append(agreement(part, x, y)[0])
        axes.set(xlabel=labels[0], ylabel=labels[1])
        axes.set_title(title.format(values[-1]), fontsize=10)
        axes.ticklabel_format(axis="y", scilimits=(-2, 3))
    return values


def draw_quantiles(axes: Any, part: pd.DataFrame, colour: str, label: str) -> None:
    """The exact error against the number of angles: its median, and the range from 10 to 90 % of pairs."""
    low, middle, high = (part.groupby("angles")["exact"].quantile(q) for q in (0.1, 0.5, 0.9))
    axes.plot(middle.index, middle, "o-", color=colour, label=label)
    axes.fill_between(middle.index, low, high, color=colour, alpha=0.15, linewidth=0)
