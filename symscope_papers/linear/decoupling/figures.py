"""Figure of `linear/decoupling`: both parts of the weights against epochs."""

from __future__ import annotations

from symscope.report import COLOURS, INK, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.linear.decoupling.config import KINDS, Decoupling


def draw_plots(config: Decoupling, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    paths = tables["paths"]
    figure = new_figure(9.0, 4.0)
    with style():
        panels = figure.subplots(1, 2, sharey=True)
        for axes, kind, letter in zip(panels, KINDS, "bc", strict=True):
            part = paths[paths["shared"] == kind]
            other = KINDS[1 - KINDS.index(kind)]
            for i, (_, run) in enumerate(part.groupby("run")):
                colour = COLOURS[i % len(COLOURS)]
                axes.plot(
                    run["epoch"], run[other], color=colour, label=f"{other}, a run each" if i == 0 else None
                )
                axes.plot(
                    run["epoch"], run[kind], "--", color=INK, label=f"{kind}, all runs" if i == 0 else None
                )
            axes.set(title=f"({letter}) same {kind} start", xlabel="epoch")
            axes.grid(True)
            axes.legend(fontsize=9)
        panels[0].set_ylabel("weight")
    return [
        Plot(
            name="components",
            figure=figure,
            title="One part shared, the other not",
            source="Fig. 1b-c",
            alt="Two panels of weights against epochs. Left: all runs' asymmetric weights fall on one "
            "dashed line to zero while their symmetric weights come from different starts to one value. "
            "Right: the symmetric weights fall on one line while the asymmetric ones decay to zero from "
            "different starts.",
            caption="Dashed: the part all runs share, drawn for every run; the lines lie on each other. "
            "Solid: the other part.",
        )
    ]
