"""Accuracy against the number of angles, in the layout of Fig. 6B and 13."""

from __future__ import annotations

import pandas as pd

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.chart_parts import accuracy_axes, error_line, shared_legend
from symscope_papers.spectral.classes.claims import mean_accuracy
from symscope_papers.spectral.classes.config import Classes

METHODS = {
    "trained": ("trained networks", COLOURS[0], "o-"),
    "rule": ("paper's one-versus-many rule", COLOURS[1], "s--"),
    "regression": ("exact kernel regression", COLOURS[2], "^-."),
    "group form": ("exact, group form", COLOURS[3], "x:"),
}


def draw_plots(config: Classes, tables: RunTables) -> list[Plot]:
    """Fig. 6B, and the same for each left-out class."""
    table = tables["accuracy"]
    trials = int(table["trial"].nunique())
    return [mean_plot(table, trials, config.seeds), digit_plot(table)]


def mean_plot(table: pd.DataFrame, trials: int, digits: int) -> Plot:
    """Fig. 6B: the mean over left-out classes, with error bars over trials."""
    figure = new_figure(7.2, 4.0)
    with style():
        axes = figure.subplots()
        for method, (name, colour, kind) in METHODS.items():
            curve = mean_accuracy(table, method)
            error_line(axes, curve["angles"], curve["mean"], curve["error"], kind, colour, name)
        accuracy_axes(axes, sorted(table["angles"].unique().tolist()))
        axes.set_ylabel("accuracy on left-out upright digits")
        axes.legend(fontsize=9, loc="best")
    trained = mean_accuracy(table, "trained")
    return Plot(
        name="accuracy",
        figure=figure,
        title="Accuracy against the number of angles",
        source="Fig. 6B",
        alt="Line chart of the accuracy on left-out upright digits against the number of angles; trained "
        f"networks go from {trained['mean'].iloc[0]:.2f} at {trained['angles'].iloc[0]} angles to "
        f"{trained['mean'].iloc[-1]:.2f} at {trained['angles'].iloc[-1]}, and so do the predictions.",
        caption=f"10 classes with {digits} digits each; the upright images of one class left out, each in "
        f"turn. Mean of {trials} data sets; bars are standard errors.",
    )


def digit_plot(table: pd.DataFrame) -> Plot:
    """Fig. 13: a panel for each left-out class."""
    labels = sorted(int(label) for label in table["left_out"].unique())
    columns = min(5, len(labels))
    rows = -(-len(labels) // columns)
    figure = new_figure(1.9 * columns + 0.6, 1.9 * rows + 0.6)
    with style():
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for axes, label in zip(panels.flat, labels, strict=False):
            own = table[table["left_out"] == label]
            for method in ("trained", "rule", "regression"):
                name, colour, kind = METHODS[method]
                curve = mean_accuracy(own, method)
                error_line(axes, curve["angles"], curve["mean"], curve["error"], kind, colour, name)
            accuracy_axes(
                axes, sorted(table["angles"].unique().tolist())[::2]
            )  # every other one: they would touch
            axes.set(title=f"digit {label}", xlabel="")
        for axes in panels.flat[len(labels) :]:
            axes.set_axis_off()
        figure.supxlabel("angles", fontsize=10)
        figure.supylabel("accuracy", fontsize=10)
        shared_legend(figure, panels.flat[:1])
    return Plot(
        name="digits",
        figure=figure,
        title="The same for each left-out digit",
        source="Fig. 13",
        alt=f"{len(labels)} small line charts, one for each left-out digit, of accuracy against the number "
        "of angles: trained networks, the paper's rule and exact regression.",
        caption="Digits differ in how many angles they need; bars are standard errors over data sets.",
    )
