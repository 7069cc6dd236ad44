"""Figures of `forecast/budgets`."""

from __future__ import annotations

from typing import Any

import pandas as pd

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.forecast.bank.figures import GREY
from symscope_papers.forecast.bank.scores import CASE, merit
from symscope_papers.forecast.budgets.data import DATASETS
from symscope_papers.forecast.budgets.networks import NETWORKS
from symscope_papers.forecast.budgets.scores import BudgetMerit, budget_merits, matched_forecasts

MARKERS = ("o", "s", "^", "D", "v", "P")  # one for each share of the time, in turn


def draw_plots(config: Any, tables: RunTables) -> list[Plot]:
    """Forecasts against trainings, and errors by network and data; none where every budget was refused."""
    rows = matched_forecasts(tables)
    if rows.empty:
        return []
    return [scatter_plot(rows, budget_merits(tables)), where_plot(rows)]


def scatter_plot(rows: pd.DataFrame, table: dict[float, BudgetMerit]) -> Plot:
    """Forecast against trained accuracy of classes, a marker for each share of the time."""
    figure = new_figure(7.4, 5.2)
    with style():
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--")
        for k, share in enumerate(table):
            mine = rows[rows["share"] == share]
            for held_out, part in mine.groupby("held_out"):
                axes.scatter(
                    part["forecast"],
                    (part["accuracy"] + part["second_accuracy"]) / 2,
                    s=20,
                    marker=MARKERS[k % len(MARKERS)],
                    facecolors=COLOURS[k % len(COLOURS)] if held_out else "none",
                    edgecolors=COLOURS[k % len(COLOURS)],
                    linewidths=0.9,
                    alpha=0.8,
                )
            axes.scatter(
                [],
                [],
                s=20,
                marker=MARKERS[k % len(MARKERS)],
                facecolors="none",
                edgecolors=COLOURS[k % len(COLOURS)],
                label=f"{share:.0%} of the time",
            )
        axes.scatter([], [], s=20, color=GREY, label="held out")
        axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
        axes.set(xlabel="forecast accuracy", ylabel="trained accuracy, mean of two trainings")
        axes.grid(True)
        figure.legend(loc="outside right upper", fontsize=9)
    words = "; ".join(
        f"{share:.0%}: mean difference {one.merit.error:.3f}, two trainings {one.merit.floor:.3f}, rank "
        f"correlation {one.merit.ranks:.2f}, {one.merit.cases} cases"
        for share, one in table.items()
    )
    return Plot(
        name="scatter",
        figure=figure,
        title="Forecasts in a share of the time, against training",
        source="beyond the papers",
        alt="Scatter plot of the accuracy that was forecast for a class on new samples at transformations "
        "the training data lacks, against that of networks trained without them.",
        caption=f"A mark is a class of a case; on the dashed line forecast and training agree. {words}.",
    )


def where_plot(rows: pd.DataFrame) -> Plot:
    """Error by network and by data, a marker for each share, beside the difference of two trainings."""
    shares = sorted(rows["share"].unique())
    names = {
        "network": [name for name in NETWORKS if name in set(rows["network"])],
        "data": [name for name in DATASETS if name in set(rows["data"])],
    }
    most = max(len(one) for one in names.values())
    figure = new_figure(9.4, 0.3 * most + 1.7)
    with style():
        for axes, (column, shown) in zip(figure.subplots(1, 2, sharex=True), names.items(), strict=True):
            places = range(len(shown))
            parts = dict(list(rows.groupby(column)))
            for k, share in enumerate(shares):
                found = {name: part[part["share"] == share] for name, part in parts.items()}
                at = [place for place in places if len(found[shown[place]])]
                axes.plot(
                    [merit(found[shown[place]]).error for place in at],
                    at,
                    linestyle="",
                    marker=MARKERS[k % len(MARKERS)],
                    markersize=5.5,
                    markerfacecolor="none",
                    color=COLOURS[k % len(COLOURS)],
                    label=f"{share:.0%} of the time",
                )
            trained = {name: part.drop_duplicates([*CASE, "position"]) for name, part in parts.items()}
            axes.plot(
                [merit(trained[name]).floor for name in shown],
                places,
                linestyle="",
                marker="|",
                markersize=13,
                color="black",
                label="two trainings",
            )
            axes.set_yticks(list(places), shown, fontsize=9)
            axes.set_ylim(len(shown) - 0.5, -0.5)
            axes.set_xlabel("mean absolute difference, accuracy")
            axes.set_title(column, fontsize=10)
            axes.grid(True, axis="x")
        figure.axes[0].set_xlim(left=0)
        figure.legend(
            *figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9
        )
    return Plot(
        name="where",
        figure=figure,
        title="Error by network and by data",
        source="beyond the papers",
        alt="Mean absolute difference of forecasts from trainings, beside that of two trainings, by network "
        "and by data.",
        caption="A case counts once in each panel; budgets that were refused are left out.",
    )
