"""Figure of `dynamics/ordinary`."""

from __future__ import annotations

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.dynamics.ordinary.config import Ordinary
from symscope_papers.dynamics.ordinary.measure import STRATEGIES

PANELS = (
    ("outside", "distance of layers from E"),
    ("error", "equivariance error of the function"),
    ("moved_risk", "risk, samples held out and moved"),
)


def draw_plots(config: Ordinary, tables: RunTables) -> list[Plot]:
    """Distance from E, equivariance of the function and risk along training, a row per task."""
    table = tables["ordinary"]
    figure = new_figure(8.6, 2.4 * len(config.tasks))
    with style():
        grid = figure.subplots(len(config.tasks), len(PANELS), squeeze=False, sharex=True)
        for row, task in zip(grid, config.tasks, strict=True):
            for axes, (what, title) in zip(row, PANELS, strict=True):
                for colour, strategy in zip(COLOURS, STRATEGIES, strict=False):
                    part = table[(table["task"] == task) & (table["strategy"] == strategy)]
                    mean = part.groupby("step")[what].mean()
                    axes.plot(mean.index, mean, color=colour, label=strategy)
                    for _, run in part.groupby("run"):
                        axes.plot(run["step"], run[what], color=colour, alpha=0.3, linewidth=0.8)
                axes.set_ylim(bottom=0)
                axes.grid(True)
                axes.set_title(f"{task}: {title}" if what == "outside" else title, fontsize=9)
        for axes in grid[-1]:
            axes.set_xlabel("steps")
        grid[0][-1].legend(fontsize=9)
    ends = table[(table["step"] == table["step"].max()) & (table["strategy"] == "augmented")]
    return [
        Plot(
            name="ordinary",
            figure=figure,
            title="From an ordinary start",
            source="Sec. 6",
            alt="For every task, distance of the layers from E, equivariance error of the function and risk "
            "against steps: augmented training keeps its distance from E, while the function's error falls "
            f"to {ends['error'].mean():.2g} on average.",
            caption="Faint lines: single runs. Distance and error of equivariant training are 0. Risk is on "
            "samples held out, under random elements of the group.",
        )
    ]
