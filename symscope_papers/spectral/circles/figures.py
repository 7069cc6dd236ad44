"""Figures of the circle experiments, in the paper's layout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from symscope.data.synthetic import circles
from symscope.kernels.classical import rbf_kernel
from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.chart_parts import wrong_line
from symscope_papers.spectral.circles.config import Density, Distance
from symscope_papers.spectrum_plots import inverse_panels


def draw_distance(config: Distance, tables: RunTables) -> list[Plot]:
    """Fig. 2A-B, 3B and 3C."""
    errors, spectra = tables["errors"], tables["spectra"]
    shown = _three(sorted(errors["distance"].unique().tolist()))
    return [
        setting_plot(config.points, 1.0, config.inverse_scale),
        error_plot(
            errors,
            "distance",
            "distance Δ between the orbits",
            "Error against distance",
            "Fig. 3B",
            f"{_turn(errors, 'distance')} Dots: kernel regression solved outright; lines: the spectral "
            "formula.",
        ),
        inverse_plot(spectra, errors, "distance", "Δ", shown, "Fig. 2C-D, 3C"),
    ]


def draw_density(config: Density, tables: RunTables) -> list[Plot]:
    """Fig. 3D, 3E and 3F."""
    errors, spectra = tables["errors"], tables["spectra"]
    numbers = sorted(errors["points"].unique().tolist())
    return [
        setting_plot(
            int(numbers[0]),
            config.distance,
            config.inverse_scale,
            dense=int(numbers[min(3, len(numbers) - 1)]),
        ),
        error_plot(
            errors,
            "points",
            "points N of each orbit",
            "Error against density",
            "Fig. 3E",
            "With the authors' ridge the error levels off; without any it goes on falling. Dots "
            "(kernel regression "
            "solved outright) stop where the kernel matrix is singular to rounding.",
        ),
        inverse_plot(
            spectra, errors, "points", "N", _three([n for n in numbers if n <= 12] or numbers), "Fig. 3F"
        ),
    ]


def setting_plot(points: int, distance: float, inverse_scale: float, dense: int | None = None) -> Plot:
    """The two circles, with one point missing, and the kernel matrix over them."""
    figure = new_figure(8.2, 3.6)
    with style():
        left = figure.add_subplot(1, 2, 1, projection="3d")
        _draw_circles(left, points, distance)
        if dense is None:
            right = figure.add_subplot(1, 2, 2)
            gram = rbf_kernel(1 / (math.sqrt(2) * inverse_scale))(circles(points, distance).x)
            image = right.imshow(gram.numpy(), cmap="cividis", vmin=0, vmax=1)
            right.set(title="kernel matrix: circulant", xlabel="point", ylabel="point")
            figure.colorbar(image, ax=right, shrink=0.85)
        else:
            _draw_circles(figure.add_subplot(1, 2, 2, projection="3d"), dense, distance)
    what = f"{points} points each" if dense is None else f"{points} and {dense} points each"
    return Plot(
        name="setting",
        figure=figure,
        title="The data: two interleaved orbits",
        source="Fig. 2A-B" if dense is None else "Fig. 3D",
        alt=f"Two unit circles {distance:g} apart with {what}, labelled plus one and minus one, one "
        "point missing"
        + (
            ", beside their kernel matrix with equal values along every wrapped diagonal."
            if dense is None
            else "."
        ),
        caption="One point of the upper orbit is missing (open circle); its label is to be predicted "
        "from the others.",
    )


def _draw_circles(axes: Any, points: int, distance: float) -> None:
    x = circles(points, distance).x.numpy()
    plus, minus = x[0::2], x[1::2]
    axes.scatter(*plus.T, color=COLOURS[0], s=34, depthshade=False, label="+1")
    axes.scatter(*minus[1:].T, color=COLOURS[1], s=34, depthshade=False, label="−1")
    axes.scatter(
        *minus[:1].T, facecolors="none", edgecolors=COLOURS[1], s=60, linewidths=1.6, depthshade=False
    )
    for orbit, colour in ((plus, COLOURS[0]), (minus, COLOURS[1])):
        closed = [*orbit, orbit[0]]
        axes.plot(*zip(*closed, strict=True), color=colour, linewidth=0.8, alpha=0.6)
    axes.set_title(f"N = {points}, Δ = {distance:g}", loc="center")
    axes.set_axis_off()
    axes.set_box_aspect((1, 1, 0.7))
    axes.legend(loc="upper left", fontsize=9)


def error_plot(errors: pd.DataFrame, x: str, label: str, title: str, source: str, caption: str) -> Plot:
    """Formula (lines) and regression (dots) for every ridge; above 1 the prediction is wrong."""
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullLocator

    figure = new_figure(7.2, 4.0)
    with style():
        axes = figure.subplots()
        for colour, (ridge, part) in zip(COLOURS, errors.groupby("relative_ridge", sort=False), strict=False):
            name = "no ridge" if ridge == 0 else f"ridge {ridge:g} of the trace"
            axes.plot(part[x], part["closed_form_error"], color=colour, label=f"spectral error, {name}")
            axes.plot(
                part[x],
                part["exact_error"],
                "o",
                color=colour,
                markersize=5,
                fillstyle="none",
                label=f"exact, {name}",
            )
        wrong_line(axes, "wrong above, right below")
        axes.set(xlabel=label, ylabel="error at the missing point", yscale="log")
        if errors["closed_form_error"].min() > 1e-2:  # a short range: plain numbers are easier to read
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
            axes.yaxis.set_minor_locator(NullLocator())
        if x == "distance":
            positive = errors[x][errors[x] > 0]
            axes.set_xscale("symlog", linthresh=float(positive.min()), linscale=0.4)
            axes.set_xlim(left=0)
        axes.grid(True)
        axes.legend(fontsize=9)
    low, high = errors["closed_form_error"].min(), errors["closed_form_error"].max()
    return Plot(
        name="error",
        figure=figure,
        title=title,
        source=source,
        alt=f"Line chart of the error at the missing point against {label}, on a logarithmic axis, "
        "falling from "
        f"{high:.3g} to {low:.3g}; the exact regression's dots lie on the formula's lines.",
        caption=caption,
    )


def inverse_plot(
    spectra: pd.DataFrame,
    errors: pd.DataFrame,
    x: str,
    symbol: str,
    values: Sequence[float | int],
    source: str,
) -> Plot:
    """The geometric picture of Eq. 7: a rectangle of height 1/lambda_N against the area under 1/lambda."""
    ridge = spectra["relative_ridge"].min()
    parts = []
    for value in values:
        part = spectra[(spectra[x] == value) & (spectra["relative_ridge"] == ridge)]
        row = errors[(errors[x] == value) & (errors["relative_ridge"] == ridge)].iloc[0]
        parts.append((f"{symbol} = {value:.3g}: error {row['closed_form_error']:.3g}", part))
    return Plot(
        name="inverse-spectrum",
        figure=inverse_panels(parts),
        title="Why: the inverse spectrum",
        source=source,
        alt="Panels of the inverse spectrum against frequency for "
        + ", ".join(f"{symbol} = {value:.3g}" for value in values)
        + ": the hatched rectangle of height one over lambda N becomes small against the shaded area "
        "under the curve.",
        caption="The error is the hatched rectangle (height 1/λ at the highest frequency) over the "
        "shaded area under 1/λ.",
    )


def _three(values: Sequence[float | int]) -> list[float | int]:
    """First, middle and last, or all when there are fewer."""
    return list(dict.fromkeys([values[0], values[len(values) // 2], values[-1]]))


def _turn(errors: pd.DataFrame, x: str) -> str:
    """The sentence on where predictions become right."""
    part = errors[errors["relative_ridge"] == errors["relative_ridge"].min()]
    right = part[part["closed_form_error"] < 1]
    if right.empty:
        return "The prediction is wrong at every size shown."
    return f"The prediction becomes right at about {right[x].iloc[0]:.2g}."
