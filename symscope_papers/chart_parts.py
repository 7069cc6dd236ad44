"""Parts of charts that experiments share: the line above which predictions are wrong, axes, legends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from symscope.report import WRONG


def wrong_line(axes: Any, words: str = "") -> None:
    """A dashed line at error 1, above which predictions are wrong, with words at its right end.

    Args:
        axes: Axes to draw on.
        words: What is written on the line, e.g. "wrong above"; nothing when empty.
    """
    axes.axhline(1, color=WRONG, linewidth=1, linestyle="--")
    if words:
        place = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom"}
        axes.annotate(words, (0.99, 1.0), **place, color=WRONG, fontsize=9)


def doubling_axis(axes: Any, values: Iterable[int], label: str) -> None:
    """A logarithmic x axis, base 2, with every value written out.

    Args:
        axes: Axes to draw on.
        values: Values of the ticks, in any order.
        label: Label of the axis.
    """
    ticks = sorted(values)
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [str(value) for value in ticks])
    axes.set_xlabel(label)


def error_line(axes: Any, x: Any, mean: Any, error: Any, line: str, colour: str, label: str) -> None:
    """Means with error bars, joined by a line.

    Args:
        axes: Axes to draw on.
        x: Values on the x axis.
        mean: Mean at each.
        error: Half the length of each bar.
        line: Marker and line style as matplotlib's format, e.g. "o-".
        colour: Colour of all.
        label: Name in the legend.
    """
    axes.errorbar(x, mean, error, fmt=line, color=colour, label=label, capsize=3, markersize=5)


def accuracy_axes(axes: Any, values: Sequence[int], label: str = "number of angles") -> None:
    """Axes of accuracy against a number that doubles: ticks at the values, all of [0, 1].

    Args:
        axes: Axes to draw on.
        values: Values of the ticks, in order.
        label: Label of the x axis.
    """
    from matplotlib.ticker import NullLocator

    doubling_axis(axes, values, label)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(-0.05, 1.05)
    axes.grid(True)


def shared_legend(
    figure: Any,
    panels: Iterable[Any],
    place: str = "upper center",
    columns: int | None = None,
    fontsize: float | int = 9,
) -> None:
    """One legend outside all panels, every name once.

    Args:
        figure: Figure of the panels.
        panels: Axes whose names are gathered, in this order.
        place: Side of the figure, e.g. "upper center".
        columns: Number of names side by side; all of them when not given.
        fontsize: Size of the names in points.
    """
    gathered: dict[str, Any] = {}
    for axes in panels:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            gathered.setdefault(name, handle)
    handles: Sequence[Any] = list(gathered.values())
    figure.legend(
        handles, list(gathered), loc=f"outside {place}", ncols=columns or len(gathered), fontsize=fontsize
    )
