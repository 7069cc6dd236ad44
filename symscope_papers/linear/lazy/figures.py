"""Figure of `linear/lazy`: asymmetry over training, and laziness."""

from __future__ import annotations

from typing import Any

import pandas as pd

from symscope.report import COLOURS, INK, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.linear.lazy.config import PLAIN, Lazy


def draw_plots(config: Lazy, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    figure = new_figure(8.4, 4.2)
    with style():
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        curves = tables["curves"].groupby(["alpha", "step"]).mean(numeric_only=True)
        for colour, alpha in zip(COLOURS, config.alphas, strict=False):
            part = curves.loc[alpha]
            part = part[part.index > 0]
            name = "ordinary" if alpha == PLAIN else f"alpha {alpha:g}"
            left.plot(part.index, part["asymmetry"], color=colour, label=name)
        part = curves.loc[config.alphas[-1]]
        part = part[part.index > 0]
        left.plot(part.index, part["theory"], ":", color=INK, label="linearised", linewidth=2.2)
        left.set(xscale="log", yscale="log", xlabel="step", ylabel="asymmetry / spread of the target")
        left.set_title("Asymmetry over training")
        _changes(right, tables["ends"])
        for panel in (left, right):
            panel.grid(True)
            panel.legend(
                fontsize=8,
                loc="upper center",
                bbox_to_anchor=(0.5, -0.17),
                ncols=3,
                columnspacing=1.2,
                handlelength=1.6,
            )
    return [
        Plot(
            "asymmetry",
            figure,
            "Lazy training does not make a network invariant",
            "App. H",
            "Left: asymmetry against training steps for several alpha and ordinary training. Right: "
            "weights and kernel move less the larger alpha, the asymmetry does not fall.",
            "Curves are means over networks. The dotted curve is the closed form of the linearised network, "
            "on which the laziest lies.",
        )
    ]


def _changes(axes: Any, ends: pd.DataFrame) -> None:
    means = ends[ends["alpha"] != PLAIN].groupby("alpha").mean(numeric_only=True)
    for colour, column, name in (
        (0, "weight_change", "weights"),
        (2, "kernel_change", "kernel"),
        (1, "asymmetry", "asymmetry"),
    ):
        axes.plot(means.index, means[column], "o-", color=COLOURS[colour], label=name)
    axes.set(xscale="log", yscale="log", xlabel="alpha", ylabel="relative size at the end", title="Laziness")
