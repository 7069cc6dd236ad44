"""Figures of `discovery/induced`: held-out drifts, and one generator before and after."""

from __future__ import annotations

import numpy as np
import pandas as pd

from symscope.report import COLOURS, WRONG, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.discovery.heat_maps import heat_map
from symscope_papers.discovery.induced.config import TOLERANCE, Induced


def draw_plots(config: Induced, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    plots = [drift_plot(tables["cases"], TOLERANCE)]
    return [*plots, carried_plot(tables["generators"])] if len(tables.get("generators", ())) else plots


def drift_plot(cases: pd.DataFrame, tolerance: float) -> Plot:
    """Loss drift of every case: in the part, in the whole, and of random fields of the same norm."""
    table = cases.groupby(["rule", "case"], sort=False)[["part_drift", "drift", "random_drift"]].max()
    labels = [f"{rule}: {case}" for rule, case in table.index]
    figure = new_figure(7.2, 1.4 + 0.3 * len(labels))
    with style():
        axes = figure.subplots()
        places = range(len(labels))[::-1]
        looks = (
            ("part_drift", "s", COLOURS[0], "in the part"),
            ("drift", "o", COLOURS[1], "carried to the whole"),
            ("random_drift", "x", COLOURS[2], "random field of the same norm"),
        )
        for column, marker, colour, label in looks:
            axes.plot(
                table[column].clip(lower=1e-17), places, marker, color=colour, label=label, fillstyle="none"
            )
        axes.axvline(tolerance, color=WRONG, linewidth=1, linestyle="--")
        axes.set_yticks(list(places), labels, fontsize=8)
        axes.set(
            xscale="log", xlabel="largest relative change of a held-out loss", ylim=(-0.6, len(labels) - 0.4)
        )
        axes.grid(True)
        axes.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.3, 1.0), ncols=3)
    return Plot(
        name="drifts",
        figure=figure,
        title="Carried symmetries on held-out parameters and data",
        source="Sec. 4",
        alt="For every rule and case the loss drift of the symmetry in the small network, carried to the "
        "large one, and of a random field; carried symmetries stay left of the dashed tolerance, random "
        "fields far right.",
        caption="Left of the dashed line counts as a symmetry. The control that sees the wrong features must "
        "be right of it.",
    )


def carried_plot(generators: pd.DataFrame) -> Plot:
    """One generator of a narrow network, and what it becomes in a wider one."""
    figure = new_figure(7.2, 4.0)
    number = generators["number"].iloc[0]
    with style():
        grid = figure.subplots(1, 2, width_ratios=(2, 3))
        for axes, which in zip(grid, ("narrow", "wide"), strict=True):
            part = generators[(generators["which"] == which) & (generators["number"] == number)]
            names = part["names"].iloc[0].split(" ")
            table = np.zeros((len(names), len(names)))
            table[part["row"].to_numpy(), part["column"].to_numpy()] = part["value"].to_numpy()
            heat_map(axes, table, names, f"{which} network", first=True)
    return Plot(
        name="carried-generator",
        figure=figure,
        title="A generator of a narrow network and the one it induces in a wider one",
        source="Fig. 1a",
        alt="Two heat maps with axes labelled by weights: the generator of the narrow network, and the same "
        "entries placed on the chosen units of the wider network, zero elsewhere.",
        caption="Cor. 4.2: the units that play the narrow network's part move, the others stand still.",
    )
