"""Figure of `linear/noise`: the asymmetry loss at each noise level."""

from __future__ import annotations

from typing import Any

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.linear.noise.config import KINDS, Noise
from symscope_papers.linear.training import dress_asymmetry

TITLES = {"orbit": "one draw of noise per orbit", "point": "one draw of noise per point"}


def draw_plots(config: Noise, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    paths = tables["paths"]
    figure = new_figure(9.0, 4.0)
    with style():
        panels = figure.subplots(1, 2, sharey=True)
        for axes, kind in zip(panels, KINDS, strict=True):
            for i, sigma in enumerate(config.sigmas):
                part = paths[(paths["noise"] == kind) & (paths["sigma"] == sigma)]
                shown = part[part["asymmetry"] > 0]
                colour = COLOURS[i % len(COLOURS)]
                # lines that coincide take turns, so that all are seen
                turns: Any = (6 * i, (6, 6 * (len(config.sigmas) - 1))) if kind == "orbit" else "-"
                axes.plot(
                    shown["epoch"],
                    shown["asymmetry"],
                    linestyle=turns,
                    color=colour,
                    linewidth=2.6 if kind == "orbit" else 1.6,
                    label=f"σ = {sigma:g}",
                )
            dress_asymmetry(axes, TITLES[kind])
            axes.set_xlabel("epoch")
        panels[1].set_ylabel("")
        panels[1].legend(fontsize=9, loc="lower left")
    return [
        Plot(
            name="noise",
            figure=figure,
            title="Asymmetry loss while |x| is learned from noisy labels",
            source="Fig. 3",
            alt="Two panels of the asymmetry loss against epochs on a logarithmic axis, a line per noise "
            "level. Left, all lines coincide and fall straight down. Right, they start with the same "
            "slope and level off, higher for more noise.",
            caption="Left: both points of an orbit have the same noisy label, Assumption 1 holds and the "
            "lines coincide (drawn in pieces, in turn). Right: each point has its own noise; the slope "
            "is the same, and the line ends at the asymmetry of the noisy sample.",
        )
    ]
