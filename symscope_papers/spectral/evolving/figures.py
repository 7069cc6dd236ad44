"""Figures of `spectral/evolving`."""

from __future__ import annotations

import pandas as pd

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.chart_parts import shared_legend
from symscope_papers.spectral.evolving.config import Evolving
from symscope_papers.spectral.networks.claims import NAMES

ACCURACIES = {
    "seen": ("seen points", "^:"),
    "unseen": ("unseen points", "o-"),
    "kernel_unseen": ("unseen points, regression with its kernel", "s--"),
}
DISTANCES = {
    "within_orbits": ("within an orbit", "o-"),
    "within_classes": ("between orbits of a class", "s--"),
    "unseen_own": ("unseen image to its orbit", "^:"),
}


def draw_plots(config: Evolving, tables: RunTables) -> list[Plot]:
    """Accuracy, and distances of features, against epochs."""
    table = tables["evolving"]
    return [
        _panels(
            table,
            ACCURACIES,
            "accuracy",
            "accuracy",
            "Networks and their kernels while they train",
            "Regression with the kernel of each moment shows what that kernel would generalise to. Mean over "
            "networks, each with another digit left out; bars are standard errors.",
        ),
        _panels(
            table,
            DISTANCES,
            "geometry",
            "distance over that between classes",
            "Distances of features while training",
            "Features of the last hidden layer; 0 within an orbit is an invariant network. "
            "Mean over networks, each with another digit left out; bars are standard errors.",
        ),
    ]


def _panels(
    table: pd.DataFrame,
    lines: dict[str, tuple[str, str]],
    name: str,
    label: str,
    title: str,
    caption: str,
) -> Plot:
    from matplotlib.ticker import NullLocator

    groups = list(table.groupby(["network", "angles"], sort=False))
    figure = new_figure(max(5.0, 2.6 * min(len(groups), 3)), 2.8 * -(-len(groups) // 3) + 0.9)
    with style():
        grid = figure.subplots(-(-len(groups) // 3), min(len(groups), 3), squeeze=False, sharey=True)
        for axes, ((network, angles), part) in zip(grid.flat, groups, strict=False):
            for colour, (what, (words, line)) in zip(COLOURS, lines.items(), strict=False):
                means = part.groupby("epoch")[what].agg(["mean", "sem"]).fillna(0.0)
                axes.errorbar(means.index, means["mean"], means["sem"], fmt=line, color=colour, label=words)
            epochs = sorted(part["epoch"].unique().tolist())
            axes.set_xscale("symlog", linthresh=1)
            axes.set_xticks(epochs, [str(epoch) for epoch in epochs])
            axes.xaxis.set_minor_locator(NullLocator())
            axes.set_xlim(right=1.6 * max(1, *epochs))
            axes.set(title=f"{NAMES[str(network)]}, {angles} angles", xlabel="epoch", ylim=(0, None))
            axes.grid(True)
        for axes in grid[:, 0]:
            axes.set_ylabel(label)
        shared_legend(figure, grid[0][:1])
    last = table[table["epoch"] == table["epoch"].max()]
    ends = ", ".join(f"{words} {last[what].mean():.2f}" for what, (words, _) in lines.items())
    alt = f"Line charts of {label} against epochs for every network; at the end, on average: {ends}."
    return Plot(name, figure, title, "beyond the paper", alt, caption)
