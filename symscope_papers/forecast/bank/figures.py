"""Figures of `forecast/bank`."""

from __future__ import annotations

from typing import Any

import pandas as pd

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.forecast.bank.correction import all_forecasts
from symscope_papers.forecast.bank.networks import NETWORKS
from symscope_papers.forecast.bank.scores import merit, merits
from symscope_papers.forecast.coverages import COVERAGES

GREY = "#8b939c"
HUES = (*COLOURS, "#222222", "#1aa0b4", "#8c4a1f", "#8f9a00", "#e38bb8")  # one for each network
MARKERS = {"one": "o", "half": "s", "gap": "^", "once": "D"}


def draw_plots(config: Any, tables: RunTables) -> list[Plot]:
    """Forecast against training, errors of all forecasts, and where they are."""
    return bank_plots(all_forecasts(tables), max(config.costs)) if config.trainings else []


def bank_plots(rows: pd.DataFrame, cost: float) -> list[Plot]:
    """The same of rows of `all_forecasts`, for the bank as a whole."""
    return [scatter_plot(rows, cost), errors_plot(rows), where_plot(rows, cost)]


def scatter_plot(rows: pd.DataFrame, cost: float) -> Plot:
    """Forecast against trained accuracy of classes, new samples, a colour for each network."""
    rows = rows[rows["forecast_of"] == f"forecast {cost:.0%}"]
    present = [name for name in NETWORKS if name in set(rows["network"])]
    figure = new_figure(6.6, 5.2)
    with style():
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--")
        for k, name in enumerate(present):
            for coverage, part in rows[rows["network"] == name].groupby("coverage", sort=False):
                axes.scatter(
                    part["forecast"],
                    (part["accuracy"] + part["second_accuracy"]) / 2,
                    s=22,
                    marker=MARKERS[str(coverage)],
                    facecolors="none",
                    edgecolors=HUES[k % len(HUES)],
                )
        for k, name in enumerate(present):
            axes.scatter([], [], color=HUES[k % len(HUES)], s=22, label=NETWORKS[name])
        for coverage in [one for one in MARKERS if one in set(rows["coverage"])]:
            marker = MARKERS[coverage]
            axes.scatter(
                [], [], s=22, marker=marker, facecolors="none", edgecolors=GREY, label=COVERAGES[coverage]
            )
        axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
        axes.set(xlabel="forecast accuracy", ylabel="trained accuracy, mean of two trainings")
        axes.grid(True)
        figure.legend(loc="outside right upper", fontsize=8.5)
    one = merit(rows)
    return Plot(
        name="scatter",
        figure=figure,
        title=f"Forecast at {cost:.0%} of the cost, against training",
        source="beyond the papers",
        alt="Scatter plot of the accuracy that was forecast for a class on new samples at transformations "
        "the training data lacks, against that of networks trained without them.",
        caption=f"A mark is a class of a case, {one.cases} cases; on the dashed line forecast and training "
        f"agree. Mean difference {one.error:.3f}, two trainings {one.floor:.3f}, rank correlation "
        f"{one.ranks:.2f}.",
    )


def errors_plot(rows: pd.DataFrame) -> Plot:
    """Mean absolute difference of every kind of forecast, beside the noise floor."""
    table = merits(rows)
    shown = sorted(table, key=lambda name: -table[name].error)
    figure = new_figure(8.2, 0.36 * len(shown) + 1.6)
    with style():
        axes = figure.subplots()
        colours = [COLOURS[0] if name.startswith("forecast") else GREY for name in shown]
        axes.barh(range(len(shown)), [table[name].error for name in shown], color=colours, height=0.62)
        axes.plot(
            [table[name].floor for name in shown],
            range(len(shown)),
            linestyle="",
            marker="|",
            markersize=13,
            color="black",
            label="two trainings, on the same cases",
        )
        axes.set_yticks(range(len(shown)), [f"{name} ({table[name].cases} cases)" for name in shown])
        axes.set_xlabel("mean absolute difference from a training, accuracy")
        axes.legend(loc="lower right", fontsize=9)
        axes.grid(True, axis="x")
    words = ", ".join(f"{name} {table[name].error:.3f}" for name in reversed(shown))
    return Plot(
        name="errors",
        figure=figure,
        title="Every forecast and baseline",
        source="beyond the papers",
        alt=f"Bar chart of the mean absolute difference from a training: {words}.",
        caption="Percentages are points passed through the network, as a share of the trainings that are "
        "replaced. Kernels and the spectral rule exist for some networks only; the tick is the noise floor "
        "of the same cases.",
    )


def where_plot(rows: pd.DataFrame, cost: float) -> Plot:
    """Error and floor by network, data, action, coverage and samples."""
    rows = rows[rows["forecast_of"] == f"forecast {cost:.0%}"]
    columns = ("network", "data", "action", "coverage", "samples")
    figure = new_figure(10.5, 4.4)
    with style():
        for axes, column in zip(figure.subplots(1, len(columns), sharey=True), columns, strict=True):
            parts = {str(name): merit(part) for name, part in rows.groupby(column, sort=column == "samples")}
            places = range(len(parts))
            axes.bar(
                places, [one.error for one in parts.values()], color=COLOURS[0], width=0.62, label="forecast"
            )
            axes.plot(
                places,
                [one.floor for one in parts.values()],
                linestyle="",
                marker="_",
                markersize=14,
                color="black",
                label="two trainings",
            )
            axes.set_xticks(list(places), list(parts), rotation=60, ha="right", fontsize=8.5)
            axes.set_title(column, fontsize=10)
            axes.grid(True, axis="y")
        figure.axes[0].set_ylabel("mean absolute difference, accuracy")
        figure.legend(
            *figure.axes[0].get_legend_handles_labels(), loc="outside lower right", ncols=2, fontsize=8.5
        )
    return Plot(
        name="where",
        figure=figure,
        title=f"Where forecasts at {cost:.0%} of the cost fail",
        source="beyond the papers",
        alt="Bar charts of the error of the forecast beside the noise floor, by network, data, action, "
        "coverage and samples of each class.",
        caption="A case counts once in each panel.",
    )
