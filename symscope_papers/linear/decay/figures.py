"""Figure of `linear/decay`: the asymmetry loss against epochs."""

from __future__ import annotations

from symscope.report import COLOURS, INK, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.linear.decay.config import Decay
from symscope_papers.linear.training import dress_asymmetry


def draw_plots(config: Decay, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    paths = tables["paths"]
    figure = new_figure(7.2, 4.2)
    with style():
        axes = figure.subplots()
        for i, (_, part) in enumerate(paths.groupby("run", sort=True)):
            seen = part[part["asymmetry"] > 1e-17]  # rounding may end at zero, which has no logarithm
            axes.plot(seen["epoch"], seen["asymmetry"], color=COLOURS[i % len(COLOURS)], linewidth=1.4)
            shown = part[part["flow"] > 1e-16]
            name = "gradient flow, Eq. 3" if i == 0 else None
            axes.plot(shown["epoch"], shown["flow"], ":", color=INK, linewidth=0.9, label=name)
        dress_asymmetry(axes)
        axes.legend(loc="upper right", title="a colour: one run")
    return [
        Plot(
            name="decay",
            figure=figure,
            title="Asymmetry loss while |x| is learned",
            source="Fig. 1a",
            alt="Line chart of the asymmetry loss against epochs on a logarithmic axis: one straight "
            "falling line per run, all parallel, each on the dotted line of the theory.",
            caption="Features (1, x), both (x, y) and (−x, y) in the data. Lines are straight and "
            "parallel: one rate for every start. They bend only where rounding takes over, near 1e-16.",
        )
    ]
