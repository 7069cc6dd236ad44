"""Figures of `dynamics/penalty`: paths under several penalties, and the smallest one."""

from __future__ import annotations

from symscope.report import COLOURS, INK, WRONG, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.dynamics.penalty.config import DEVIATION, Penalty


def draw_plots(config: Penalty, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    return [_path_plot(config, tables), _penalty_plot(tables)]


def _path_plot(config: Penalty, tables: RunTables) -> Plot:
    paths = tables["paths"]
    figure = new_figure(7.2, 4.0)
    with style():
        axes = figure.subplots()
        for colour, (multiple, part) in zip(COLOURS, paths.groupby("multiple"), strict=False):
            for k, (_, run) in enumerate(part.groupby(["group", "kind", "problem"])):
                label = f"{multiple:g} × predicted" if k == 0 else None
                axes.plot(
                    run["scaled_time"], run["distance"], color=colour, linewidth=1, alpha=0.6, label=label
                )
        axes.axhline(DEVIATION, color=WRONG, linestyle="--", linewidth=1)
        axes.set(xlabel="time × rate of the instability", ylabel="distance from E", yscale="log")
        axes.grid(True)
        axes.legend(fontsize=9, title="penalty", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return Plot(
        name="paths",
        figure=figure,
        title="Augmented training with a penalty on what leaves E",
        source="Sec. 6",
        alt="The distance from E against time for several penalties: it grows for penalties below the "
        "predicted smallest one and falls for those above.",
        caption="From a random step of 1e-7 off a strict minimum inside E (dashed), every problem and "
        "penalty. Deviations along directions that are stable anyway fall first.",
    )


def _penalty_plot(tables: RunTables) -> Plot:
    table = tables["penalties"]
    table = table[table["verdict"] == "unstable"]
    figure = new_figure(4.8, 4.2)
    with style():
        axes = figure.subplots()
        for colour, (group, part) in zip(
            (*COLOURS, INK) * 2, table.groupby("group", sort=False), strict=False
        ):
            axes.plot(part["predicted"], part["measured"], "o", color=colour, markersize=5, label=str(group))
        ends = [table["predicted"].min(), table["predicted"].max()]
        axes.plot(ends, ends, color=COLOURS[2], linewidth=1)
        axes.set(xscale="log", yscale="log")
        axes.set(xlabel="minus half the lowest eigenvalue", ylabel="smallest penalty that stabilises")
        axes.grid(True)
        axes.legend(fontsize=9, loc="upper left", title="group")
    return Plot(
        name="smallest",
        figure=figure,
        title="Smallest stabilising penalty",
        source="Sec. 6, beyond the paper",
        alt=f"Scatter plot of the measured smallest stabilising penalty of {len(table)} problems against "
        "minus half the lowest eigenvalue; all lie on the diagonal.",
        caption="Measured by bisection on whether the distance from E grows.",
    )
