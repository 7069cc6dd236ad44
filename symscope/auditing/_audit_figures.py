"""Figures of an audit: causes, elements, layers, accuracy by transformation, data, remedies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from jaxtyping import Float
from torch import Tensor

from symscope.auditing._repair import Repair
from symscope.auditing._result import Audit
from symscope.report import COLOURS, FAINT, INK, RIGHT, WRONG, draw_sample, new_figure, style

WIDTH = 5.4  # inches: letters are legible on a phone
MOST_LAYERS = 16
MOST_BARS = 24  # elements whose names fit below an axis
VERDICTS = {"same": RIGHT, "different": WRONG, "unknown": FAINT}


def causes_figure(audit: Audit) -> Any:
    """A bar for each cause: its share of the squared error, with the 95 % interval."""
    causes = audit.causes
    figure = new_figure(WIDTH, 0.9 + 0.42 * len(causes))
    with style():
        axes = figure.subplots()
        places = range(len(causes))
        shares = [one.share for one in causes]
        axes.barh(places, shares, color=[COLOURS[0] if k == 0 else FAINT for k in places], height=0.6)
        spread = _spread([(one.share, one.low, one.high) for one in causes])
        axes.errorbar(shares, places, xerr=spread, fmt="none", ecolor=INK, capsize=3, linewidth=1)
        axes.set_yticks(list(places), [one.kind for one in causes])
        axes.invert_yaxis()
        axes.set(xlabel="share of the squared error", xlim=(0, max(1.02, *(one.high for one in causes))))
        axes.xaxis.set_major_formatter(_percent())
    return figure


def elements_figure(audit: Audit) -> Any:
    """The error under each element; elements that interpolate in another colour."""
    figure = new_figure(WIDTH, 3.0)
    rows = audit.elements
    with style():
        axes = figure.subplots()
        for exact, words, colour in (
            (True, "moves samples exactly", COLOURS[0]),
            (False, "interpolates", COLOURS[1]),
        ):
            chosen = [k for k, one in enumerate(rows) if one.exact == exact]
            if chosen:
                axes.bar(chosen, [rows[k].error for k in chosen], color=colour, width=0.7, label=words)
        _named_ticks(axes, [one.element for one in rows])
        axes.axhline(audit.error, color=INK, linestyle="--", linewidth=1, label="all elements")
        axes.set(xlabel="element", ylabel="equivariance error", ylim=(0, None))
        axes.yaxis.set_major_formatter(_percent())
        figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    return figure


def layers_figure(audit: Audit) -> Any:
    """The error of each layer by itself, as trained and in a fresh network, in the order of the network."""
    rows = [one for one in audit.layers if not (math.isnan(one.own) and math.isnan(one.own_fresh))]
    if len(rows) > MOST_LAYERS:
        largest = sorted(rows, key=lambda one: (one.added, _number(one.own)), reverse=True)[:MOST_LAYERS]
        rows = [one for one in rows if one in largest]
    figure = new_figure(WIDTH, 1.2 + 0.34 * len(rows))
    with style():
        axes = figure.subplots()
        places = list(range(len(rows)))
        own = [_number(one.own) for one in rows]
        axes.barh(places, own, color=COLOURS[0], height=0.55, label="this network")
        fresh = [(k, one.own_fresh) for k, one in zip(places, rows, strict=True)]
        fresh = [(k, value) for k, value in fresh if not math.isnan(value)]
        if fresh:
            axes.scatter(
                [value for _, value in fresh],
                [k for k, _ in fresh],
                marker="D",
                s=24,
                color=COLOURS[1],
                label="a fresh network",
                zorder=3,
            )
        names = [f"{one.layer} ({one.kind})" for one in rows]
        axes.set_yticks(places, [_short(name) for name in names], fontsize=8, parse_math=False)
        axes.invert_yaxis()
        axes.set(xlabel="error of the layer by itself", xlim=(0, None))
        axes.xaxis.set_major_formatter(_percent())
        figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    return figure


def symmetry_figure(audit: Audit) -> Any:
    """How well a classifier tells moved samples from others, by element, with intervals."""
    found = audit.data_symmetry
    assert found is not None
    figure = new_figure(WIDTH, 3.0)
    with style():
        axes = figure.subplots()
        for verdict, colour in VERDICTS.items():
            rows = [(k, one) for k, one in enumerate(found.elements) if one.verdict == verdict]
            if rows:
                values = [one.accuracy for _, one in rows]
                spread = _spread([(one.accuracy, one.low, one.high) for _, one in rows])
                axes.errorbar(
                    [k for k, _ in rows], values, yerr=spread, fmt="o", color=colour, capsize=3, label=verdict
                )
        axes.axhline(0.5, color=INK, linestyle="--", linewidth=1, label="chance")
        if found.interpolation is not None:
            label = "interpolation alone"
            axes.axhline(found.interpolation, color=FAINT, linestyle=":", linewidth=1.5, label=label)
        _named_ticks(axes, [one.element_name for one in found.elements])
        axes.set(xlabel="element that moves samples", ylabel="told apart", ylim=(0.4, 1.03))
        axes.yaxis.set_major_formatter(_percent())
        figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    return figure


def heat_map(
    values: Float[Tensor, "r c"], rows: Sequence[str], columns: Sequence[str], label: str, low: float
) -> Any:
    """Numbers from `low` to 1 as a map with the numbers in it; NaN stays empty.

    Args:
        values: A row and a column for each name.
        rows: Names down the side.
        columns: Names along the top.
        label: What the numbers are, beside the colours.
        low: Number at the dark end.
    """
    figure = new_figure(min(11.0, 1.9 + 0.52 * len(columns)), 1.3 + 0.3 * len(rows))
    with style():
        axes = figure.subplots()
        shown = axes.imshow(values.numpy(), cmap="cividis", vmin=low, vmax=1.0, aspect="auto")
        axes.set_xticks(range(len(columns)), columns, rotation=45, ha="left", fontsize=8, parse_math=False)
        axes.set_yticks(range(len(rows)), [_short(one) for one in rows], fontsize=8, parse_math=False)
        axes.xaxis.tick_top()
        for r, line in enumerate(values.tolist()):
            for c, value in enumerate(line):
                if not math.isnan(value):
                    dark = value < low + 0.55 * (1 - low)
                    colour = "#ffffff" if dark else "#000000"
                    axes.text(c, r, f"{value:.2f}", ha="center", va="center", fontsize=7, color=colour)
        for spine in axes.spines.values():
            spine.set_visible(False)
        figure.colorbar(shown, ax=axes, label=label, shrink=0.9)
    return figure


def repairs_figure(repairs: Sequence[Repair]) -> Any:
    """For each remedy the score over all transformations and upright, before and after."""
    rows = [one for one in repairs if one.everywhere_after is not None]
    figure = new_figure(WIDTH, 1.3 + 0.42 * len(rows))
    with style():
        axes = figure.subplots()
        for offset, what, colour in (
            (-0.13, "everywhere", COLOURS[0]),
            (0.13, "upright", COLOURS[1]),
        ):
            words = "all transformations" if what == "everywhere" else "upright alone"
            for k, one in enumerate(rows):
                before, after = getattr(one, f"{what}_before"), getattr(one, f"{what}_after")
                axes.plot([before.value, after.value], [k + offset] * 2, color=colour, linewidth=1)
                axes.errorbar(
                    [after.value],
                    [k + offset],
                    xerr=_spread([(after.value, after.low, after.high)]),
                    fmt="o",
                    color=colour,
                    capsize=3,
                    markersize=5,
                    label=f"{words}, after" if k == 0 else None,
                )
                axes.plot(
                    [before.value],
                    [k + offset],
                    "o",
                    markerfacecolor="none",
                    color=colour,
                    markersize=5,
                    label=f"{words}, before" if k == 0 else None,
                )
        axes.set_yticks(range(len(rows)), [one.name for one in rows], fontsize=8)
        axes.invert_yaxis()
        if rows and rows[0].classes:
            axes.set(xlabel="held-out accuracy", xlim=(0, 1.02))
            axes.xaxis.set_major_formatter(_percent())
        else:
            axes.set(xlabel="root mean square error, in units of the targets", xlim=(0, None))
        axes.grid(True, axis="x")
        figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    return figure


def samples_figure(
    pictures: Sequence[tuple[Tensor, str, Tensor, str]], kind: str, title: tuple[str, str]
) -> Any:
    """Pairs of samples, as they are above and transformed below, with a few words each.

    Args:
        pictures: A sample, words above it, the sample transformed, words above that.
        kind: "image", "series" or "points".
        title: What the upper and the lower row are.
    """
    figure = new_figure(0.6 + 1.2 * len(pictures), 3.6)
    with style():
        grid = figure.subplots(2, len(pictures), squeeze=False)
        for column, (plain, above, moved, below) in enumerate(pictures):
            for axes, sample, words, colour in (
                (grid[0, column], plain, above, RIGHT),
                (grid[1, column], moved, below, WRONG),
            ):
                draw_sample(axes, sample.double(), kind)
                axes.set(xticks=[], yticks=[])
                axes.set_title(
                    words, fontsize=8, fontweight="normal", loc="center", color=colour, parse_math=False
                )
                for spine in axes.spines.values():
                    spine.set_visible(False)
        for line, words in zip(grid, title, strict=True):
            line[0].set_ylabel(words, fontsize=8)
    return figure


def _percent() -> Any:
    from matplotlib.ticker import PercentFormatter

    return PercentFormatter(1.0)


def _spread(rows: Sequence[tuple[float, float, float]]) -> list[list[float]]:
    """What stands below and above each value; rounding makes neither negative."""
    return [
        [max(0.0, value - low) for value, low, _ in rows],
        [max(0.0, high - value) for value, _, high in rows],
    ]


def _named_ticks(axes: Any, names: Sequence[str]) -> None:
    step = -(-len(names) // MOST_BARS)
    slanted = {"rotation": 45, "ha": "right"} if max(map(len, names)) > 4 or len(names) > 12 else {}
    axes.set_xticks(range(len(names))[::step], names[::step], fontsize=8, parse_math=False, **slanted)


def _number(value: float) -> float:
    return 0.0 if math.isnan(value) else value


def _short(name: str, most: int = 30) -> str:
    return name if len(name) <= most else f"...{name[3 - most :]}"
