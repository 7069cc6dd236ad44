"""Figures of `forecast/quality`."""

from __future__ import annotations

import math
from typing import Any

from symscope.report import COLOURS, RIGHT, WRONG, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.forecast.quality.data import DATASETS
from symscope_papers.forecast.quality.networks import NETWORKS
from symscope_papers.forecast.quality.scores import (
    NOMINAL,
    errors,
    floors,
    gains,
    match_forecasts,
    noise_floor,
    ranks,
    scores,
    seed_floor,
    with_combined,
)
from symscope_papers.forecast.quality.variants import variant_names

GREY = "#8b939c"
WITHIN = 1.2  # times the noise floor: what was hoped for before the first run
MARKERS = {"mnist": "o", "mnist-14": "o", "digits": "s", "points": "^"}


def draw_plots(config: Any, tables: RunTables) -> list[Plot]:
    """Scatter by architecture, errors by variant, where they are, coverage, overshoot."""
    names, tables = variant_names(config.pilots), with_combined(tables)
    return [
        scatter_plot(config, tables),
        variants_plot(tables, names),
        where_plot(tables),
        coverage_plot(tables, names),
        overshoot_plot(tables),
    ]


def scatter_plot(config: Any, tables: RunTables) -> Plot:
    """Forecast against trained accuracy, a panel for each architecture."""
    table = match_forecasts(tables)
    table = table[table["variant"] == "architecture"]
    present = [name for name in NETWORKS if name in set(table["network"])]
    columns = min(3, len(present))
    rows = math.ceil(len(present) / columns)
    figure = new_figure(2.9 * columns + 0.6, 2.9 * rows + 0.7)
    with style():
        grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
        for axes in grid.flat[len(present) :]:
            axes.set_visible(False)
        for axes, name in zip(grid.flat, present, strict=False):
            mine = table[table["network"] == name]
            axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--")
            for dataset, part in mine.groupby("dataset", sort=False):
                sizes = part.groupby(["accuracy", "trained"]).size().reset_index(name="count")
                axes.scatter(
                    sizes["accuracy"],
                    sizes["trained"],
                    s=14 + 14 * sizes["count"],
                    marker=MARKERS[str(dataset)],
                    facecolors="none",
                    edgecolors=COLOURS[list(DATASETS).index(str(dataset))],
                    label=DATASETS[str(dataset)],
                )
            error = (mine["accuracy"] - mine["trained"]).abs().mean()
            axes.set_title(NETWORKS[name], fontsize=9.5)
            axes.text(0.02, 1.06, f"mean difference {error:.2f}, ρ {ranks(mine):.2f}", fontsize=8.5)
            axes.set(xlim=(-0.05, 1.05), ylim=(-0.05, 1.16), aspect="equal")
            axes.grid(True)
        for at in range(columns):  # the lowest panel of each column
            lowest = [row for row in range(rows) if row * columns + at < len(present)][-1]
            grid[lowest, at].set_xlabel("forecast accuracy")
            grid[lowest, at].tick_params(labelbottom=True)
        for row in range(rows):
            grid[row, 0].set_ylabel(f"trained accuracy (mean of {config.repeats})")
        handles: dict[str, Any] = {}
        for axes in grid.flat[: len(present)]:
            result, labels = axes.get_legend_handles_labels()
            handles |= dict(zip(labels, result, strict=True))
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles), fontsize=9
        )
    return Plot(
        name="scatter",
        figure=figure,
        title="Forecast against trained accuracy",
        source="beyond the papers",
        alt="Scatter plots, one for each architecture, of the accuracy forecast for a left-out class against "
        "that of networks trained without it.",
        caption="Each mark is a left-out class of a case (data, group, architecture), larger where several "
        "fall together; on the dashed line forecast and training agree. From the architecture alone: "
        "regression with the kernel the forecast takes for it, on the samples the networks were trained on.",
    )


def variants_plot(tables: RunTables, names: dict[str, str]) -> Plot:
    """Mean absolute difference and bias of every variant, beside the noise floor."""
    table = scores(tables)
    shown = [name for name in names if name in table][::-1]
    floor = noise_floor(tables)
    figure = new_figure(8.2, 0.34 * len(shown) + 1.6)
    with style():
        axes = figure.subplots()
        good = [table[name].single <= WITHIN * floor for name in shown]
        colours = [RIGHT if one else COLOURS[0] for one in good]
        axes.barh(range(len(shown)), [table[name].single for name in shown], color=colours, height=0.6)
        axes.plot(
            [table[name].bias for name in shown],
            range(len(shown)),
            "D",
            color=COLOURS[1],
            markersize=5,
            label="bias: above 0 too optimistic",
        )
        axes.axvline(floor, color=GREY, linewidth=1.4, label=f"noise floor, {floor:.3f}")
        seeds = seed_floor(tables)
        if not math.isnan(seeds):
            axes.axvline(seeds, color=GREY, linewidth=1.4, linestyle=":", label=f"two seeds, {seeds:.3f}")
        axes.axvline(
            WITHIN * floor,
            color=WRONG,
            linewidth=1.2,
            linestyle="--",
            label=f"{WITHIN} times the noise floor",
        )
        axes.axvline(0, color=GREY, linewidth=0.6)
        axes.set_yticks(range(len(shown)), [names[name] for name in shown], fontsize=9)
        axes.set_xlabel("mean absolute difference from one training, in accuracy")
        axes.grid(True, axis="x")
        figure.legend(loc="outside lower center", ncols=3, fontsize=9)
    words = ", ".join(f"{names[name]} {table[name].single:.3f}" for name in shown[::-1])
    return Plot(
        name="variants",
        figure=figure,
        title="All forecasts that were tried",
        source="beyond the papers",
        alt=f"Bar chart of the mean absolute difference of every forecast from a training: {words}; two "
        f"trainings that differ in optimiser or width differ by {floor:.3f}.",
        caption="Green bars are within the dashed line. The noise floor is the mean difference between two "
        "trainings of one seed that differ in optimiser or width. Pilots are the beginnings of the trainings "
        "they are held against. `Level of` forecasts use trainings of other classes than the one forecast.",
    )


def where_plot(tables: RunTables) -> Plot:
    """The error of the forecast and the noise floor, by architecture, group and data."""
    table, floor = errors(tables), floors(tables)
    table = table[table["variant"] == "architecture"]
    kinds = (("network", "architecture"), ("group", "group"), ("dataset", "data"))
    widths = [max(1, table[kind].nunique()) for kind, _ in kinds]
    figure = new_figure(9.0, 3.8)
    with style():
        panels = figure.subplots(1, 3, sharey=True, width_ratios=[max(2, w) for w in widths])
        for axes, (kind, title) in zip(panels, kinds, strict=True):
            mine = table.groupby(kind, sort=False)["single"].mean()
            noise = floor.groupby(kind, sort=False)["single"].mean()
            places = range(len(mine))
            axes.bar([x - 0.2 for x in places], mine, 0.38, color=COLOURS[0], label="forecast")
            axes.bar([x + 0.2 for x in places], noise[mine.index], 0.38, color=GREY, label="noise floor")
            axes.set_xticks(places, [str(name) for name in mine.index], rotation=35, ha="right", fontsize=9)
            axes.set_title(f"by {title}")
            axes.grid(True, axis="y")
        panels[0].set_ylabel("mean absolute difference\nfrom one training")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=9)
    return Plot(
        name="where",
        figure=figure,
        title="Where forecasts from the architecture alone fail",
        source="beyond the papers",
        alt="Bar charts of the error of the forecast beside the noise floor, by architecture, group and data "
        "set.",
        caption="A case counts once in each panel. Where blue stands above grey the forecast is the problem; "
        "where both are tall, trainings do not agree among themselves either.",
    )


def coverage_plot(tables: RunTables, names: dict[str, str]) -> Plot:
    """How often intervals hold the trained accuracy, for classes and for means over classes."""
    table = scores(tables)
    shown = [name for name in names if name in table][::-1]
    figure = new_figure(8.2, 0.32 * len(shown) + 1.6)
    with style():
        axes = figure.subplots()
        places = range(len(shown))
        axes.plot(
            [table[name].covered for name in shown], places, "o", color=COLOURS[0], label="of single classes"
        )
        axes.plot(
            [table[name].covered_cases for name in shown],
            places,
            "s",
            color=COLOURS[1],
            fillstyle="none",
            label="of the mean over classes",
        )
        axes.axvline(NOMINAL, color=GREY, linestyle="--", linewidth=1.2, label=f"nominal, {NOMINAL:.0%}")
        axes.set_yticks(places, [names[name] for name in shown], fontsize=9)
        axes.set(xlabel="share of intervals that hold the trained accuracy", xlim=(-0.03, 1.03))
        axes.grid(True)
        figure.legend(loc="outside lower center", ncols=3, fontsize=9)
    return Plot(
        name="coverage",
        figure=figure,
        title="Whether intervals cover",
        source="beyond the papers",
        alt="Dot chart, for every forecast, of the share of intervals that hold the trained accuracy, for "
        "single classes and for the mean over classes, beside the nominal 95 %.",
        caption="Intervals know the chance of drawing samples and, if there are several, initialisations; "
        "not what is wrong with the forecast itself.",
    )


def overshoot_plot(tables: RunTables) -> Plot:
    """The network's own accuracy against regression with its trained kernel."""
    result = gains(tables)
    ways = {
        "refit_initial": "first\nkernel",
        "own": "the\nnetwork",
        "continued": "trained on,\nkernel held",
        "refit_head": "last layer\nrefitted",
        "refit_logistic": "kernel, cross-\nentropy",
        "refit": "kernel,\nsquared loss",
    }
    figure = new_figure(10.4, 4.4)
    with style():
        left, right = figure.subplots(1, 2, width_ratios=(2, 3))
        left.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--")
        for colour, (name, part) in zip(COLOURS, result.groupby("network", sort=False), strict=False):
            left.plot(
                part["own"], part["refit"], "o", fillstyle="none", color=colour, label=NETWORKS[str(name)]
            )
            right.plot(
                list(ways.values()), [part[way].mean() for way in ways], "o-", color=colour, fillstyle="none"
            )
        left.set(
            xlabel="accuracy of the trained network",
            ylabel="regression with its kernel",
            xlim=(-0.05, 1.05),
            ylim=(-0.05, 1.05),
            aspect="equal",
        )
        right.set_ylabel("mean accuracy at missing points")
        right.tick_params(axis="x", labelsize=8.5)
        right.set_xlim(-0.3, len(ways) - 0.7)
        for axes in (left, right):
            axes.grid(True)
        figure.legend(loc="outside lower center", ncols=3, fontsize=9)
    return Plot(
        name="overshoot",
        figure=figure,
        title="What trained kernels know that networks do not use",
        source="beyond the papers",
        alt="Left, scatter of the accuracy of regression with the trained kernel against the network's own; "
        "right, mean accuracy of six uses of what was learned, for every architecture.",
        caption="Left: a mark is a case; above the dashed line a refit with the trained kernel reads more. "
        "Right: regression with the kernel before training, the network's own outputs, the same trained on "
        "with the kernel held, and refits with the trained kernel or its last layer.",
    )
