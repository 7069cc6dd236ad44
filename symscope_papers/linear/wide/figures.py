"""Figure of `linear/wide`: start, distance from the linearisation and shift of the kernel against width."""

from __future__ import annotations

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.linear.wide.config import Wide


def draw_plots(config: Wide, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    starts = tables["starts"].groupby(["initialisation", "depth", "width"])["square"].mean() ** 0.5
    trained = tables["trained"].groupby(["initialisation", "depth", "width"]).mean(numeric_only=True)
    columns = (
        ("untrained outputs", "root mean square", starts),
        ("distance from linearised", "relative", trained["linear_gap"]),
        ("shift of the conjugate kernel", "relative", trained["kernel_shift"]),
    )
    figure = new_figure(10.4, 4.0)
    with style():
        panels = figure.subplots(1, 3)
        for axes, (title, label, values) in zip(panels, columns, strict=True):
            for kind, line in zip(config.initialisations, ("o-", "s--"), strict=False):
                for colour, depth in zip(COLOURS, config.depths, strict=False):
                    part = values.loc[kind, depth]
                    axes.plot(part.index, part, line, color=colour, label=f"{depth} hidden, {kind}")
            axes.set(xscale="log", yscale="log", xlabel="width", ylabel=label, title=title)
            axes.grid(True)
        lines = panels[0].get_legend_handles_labels()
        figure.legend(*lines, loc="outside lower center", ncols=len(config.depths), fontsize=9)
    return [
        Plot(
            name="widths",
            figure=figure,
            title="Networks of growing width: start, linearisation, conjugate kernel",
            source="App. F",
            alt="Three panels against width, a line per depth and initialisation: size of untrained "
            "outputs, distance from the linearised network and the shift of the conjugate kernel.",
            caption="Means over networks. Left: f_0 at the start. Middle: how well Eq. 10 does. Right: how "
            "far training moves the eigenvalues of the conjugate kernel.",
        )
    ]
