"""Figures of `linear/kernelised`: Table 1, and the error against the number of points."""

from __future__ import annotations

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.linear.kernelised.config import TABLE, Kernelised

FEATURES = ("gradients", "activations")


def draw_plots(config: Kernelised, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    table = _table_plot(config, tables)
    return [table] if len(config.points) == 1 else [table, _points_plot(config, tables)]


def _table_plot(config: Kernelised, tables: RunTables) -> Plot:
    largest = max(config.points)
    table = tables["errors"]
    table = table[table["points"] == largest]
    figure = new_figure(7.2, 4.4)
    with style():
        axes = figure.subplots()
        for place, ((features, element), paper) in enumerate(TABLE.items()):
            part = table[(table["features"] == features) & (table["element"] == element)]
            for colour, column in ((1, "without"), (0, "with")):
                label = f"{column} the matrix" if place == 0 else None
                axes.plot(
                    [place] * len(part),
                    part[column] / config.width,
                    "o",
                    color=COLOURS[colour],
                    alpha=0.5,
                    label=label,
                    markersize=6,
                )
            label = "the paper's Table 1" if place == 0 else None
            axes.plot(
                [place, place], paper, "_", color=COLOURS[2], markersize=26, markeredgewidth=2.5, label=label
            )
        axes.set(yscale="log", ylabel="mean L2 norm of the error / hidden units", xlim=(-0.6, 3.6))
        axes.set_xticks(range(4), [f"{f}\n{e}" for f, e in TABLE])
        axes.grid(True, axis="y")
        figure.legend(loc="outside lower center", ncols=3, fontsize=9)
    return Plot(
        "table",
        figure,
        "Error of a permutation on features, without and with its matrix",
        "Table 1",
        "Dots, one per network, of the error without and with the fitted matrix for gradients and last "
        "activations under (1 2) and (1 2 3), with the paper's numbers as green dashes.",
        "One dot per network. Divided by the number of hidden units the errors without the matrix lie near "
        "the paper's; with it they lie below.",
    )


def _points_plot(config: Kernelised, tables: RunTables) -> Plot:
    means = tables["errors"].groupby(["features", "points"]).mean(numeric_only=True)
    figure = new_figure(7.2, 4.2)
    with style():
        axes = figure.subplots(1, 2, sharey=True)
        for panel, features in zip(axes, FEATURES, strict=True):
            part = means.loc[features]
            panel.plot(part.index, part["without"], "o-", color=COLOURS[1], label="without the matrix")
            panel.plot(part.index, part["new_with"], "o-", color=COLOURS[0], label="with it, new points")
            panel.plot(part.index, part["with"], "o--", color=COLOURS[3], label="with it, fitted points")
            panel.set(xscale="log", yscale="log", xlabel="points fitted to", title=features)
            panel.grid(True)
        axes[0].set_ylabel("mean L2 norm of the error")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)
    return Plot(
        "points",
        figure,
        "Error against the number of points fitted to",
        "beyond the paper",
        "Two log-log panels, gradients and activations: the error without the matrix is flat; with it, "
        "fitted and new points approach each other as the number of points grows.",
        "Where the two lower lines differ, the matrix has learned the points and not the group.",
    )
