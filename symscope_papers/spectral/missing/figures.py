"""Figure of `spectral/missing`: the error against the number of missing points."""

from __future__ import annotations

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.chart_parts import wrong_line
from symscope_papers.spectral.missing.config import Missing


def draw_plots(config: Missing, tables: RunTables) -> list[Plot]:
    """The one figure."""
    table = tables["patterns"]
    table = table[table["data"] == "circles"]
    figure = new_figure(7.2, 4.0)
    with style():
        axes = figure.subplots()
        for colour, (kind, part) in zip(COLOURS, table.groupby("kind", sort=False), strict=False):
            name = "neighbours in a row" if kind == "arc" else "random points"
            if kind == "random":
                axes.plot(part["missing"], part["mean_error"], ".", color=colour, alpha=0.35, markersize=5)
            mean = part.groupby("missing")["mean_error"].mean()
            axes.plot(mean.index, mean.to_numpy(), "o-", color=colour, label=name, fillstyle="none")
        wrong_line(axes)
        axes.set(xlabel=f"points missing of {2 * config.points}", ylabel="mean error on them", yscale="log")
        axes.grid(True)
        axes.legend(fontsize=9)
    return [
        Plot(
            name="missing",
            figure=figure,
            title="Error against the number of missing points",
            source="App. A.1",
            alt="Line chart of the mean error on the missing points against their number, for random "
            "patterns and for neighbours in a row; above one, the dashed line, predictions are wrong.",
            caption="Small dots are single random patterns. Above the dashed line predictions are wrong.",
        )
    ]
