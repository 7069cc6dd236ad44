"""Fig. 1: the part outside E against the way travelled, runs faint, their mean opaque, at two scales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.dynamics.strategies.config import THREE, Setting, Strategy

if TYPE_CHECKING:
    import pandas as pd

COLOUR = {
    "equivariant": COLOURS[2],
    "augmented": COLOURS[0],
    "nominal": COLOURS[1],
    "half turns": COLOURS[3],
}
LINE = {"equivariant": "-", "augmented": "--", "nominal": "-.", "half turns": ":"}
ROOM = 1.15  # above the largest mean, as the lines of single runs go on


def strategy_plots(
    config: Setting, tables: RunTables, *, source: str, task: str, ways: Sequence[Strategy] = THREE
) -> list[Plot]:
    """The paper's figure, the same as its scripts plot it, and drift against its prediction."""
    paths = tables["paths"]
    ends = paths[paths["epoch"] == paths["epoch"].max()].groupby("strategy")[["drift", "travelled"]].mean()
    sizes = ", ".join(
        f"{way.label} {ends['drift'][way.name]:.1e} of {ends['travelled'][way.name]:.1e}" for way in ways
    )
    return [
        Plot(
            name="paths",
            figure=_two_scales(paths, ways, "drift", "$|A_{E^\\perp}|$"),
            title=f"Distance from E against the way travelled: {task}",
            source=source,
            alt="Two panels of the distance from E against the distance from the start, with lines for "
            f"every run and their mean. At the end, distance from E of way travelled: {sizes}.",
            caption=f"Faint: {paths['run'].nunique()} single runs of {config.epochs} epochs. Opaque: their "
            "mean. The right panel shows the same at the scale of AUGMENTED.",
        ),
        Plot(
            name="published",
            figure=_two_scales(
                _published(paths, ways),
                ways,
                "published",
                "$\\left(\\sum_i |A_{i,E^\\perp}|^4\\right)^{1/2}$",
            ),
            title="The same as the authors' scripts plot it",
            source=f"{source}, authors' scripts",
            alt="The same two panels with the root of the sum of fourth powers of the layers' distances "
            "from E on the vertical axis.",
            caption="The scripts published with the paper take squared norms of the layers for norms. "
            "What they plot is of the size of the square: gaps between strategies look squared too. Their "
            "horizontal axis leaves out the head, and for NOMINAL it is that of AUGMENTED.",
        ),
        _noise_plot(config, tables, ways, source),
    ]


def _published(paths: pd.DataFrame, ways: Sequence[Strategy]) -> pd.DataFrame:
    """The way travelled as the scripts record it: without the head, and for NOMINAL that of AUGMENTED."""
    drawn = [way.name for way in ways if way.kind == "augmented"][-1]  # half turns where they are drawn
    keys = ["run", "epoch"]
    theirs = paths[paths["strategy"] == drawn].set_index(keys)["published_travelled"]
    nominal = paths["strategy"] == "nominal"
    moved = paths.assign(travelled=paths["published_travelled"])
    index = paths.loc[nominal, keys].itertuples(index=False, name=None)
    moved.loc[nominal, "travelled"] = [theirs[key] for key in index]
    return moved


def _two_scales(paths: pd.DataFrame, ways: Sequence[Strategy], what: str, label: str) -> Any:
    figure = new_figure(9.2, 4.2)
    with style():
        left, right = figure.subplots(1, 2)
        for axes in (left, right):
            for way in ways:
                _lines(axes, paths[paths["strategy"] == way.name], way, what)
            axes.set_xlabel("$|A - A^0|$")
            axes.ticklabel_format(axis="both", style="sci", scilimits=(-2, 3))
            axes.grid(True)
        means = {way.name: paths[paths["strategy"] == way.name].groupby("epoch")[what].mean() for way in ways}
        reach = max(
            paths[paths["strategy"] == way.name].groupby("epoch")["travelled"].mean().max() for way in ways
        )
        for axes, top in ((left, max(m.max() for m in means.values())), (right, means["augmented"].max())):
            axes.set_ylim(-0.05 * top, 1.5 * top)
            axes.set_xlim(0, ROOM * reach)
        left.set(ylabel=label, title="all")
        right.set(title="at the scale of AUGMENTED")
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(ways), fontsize=9)
    return figure


def _lines(axes: Any, rows: pd.DataFrame, way: Strategy, what: str) -> None:
    colour = COLOUR[way.name]
    for _, run in rows.groupby("run"):
        axes.plot(run["travelled"], run[what], color=colour, alpha=0.3, linewidth=0.8)
    mean = rows.groupby("epoch")[["travelled", what]].mean()
    axes.plot(
        mean["travelled"], mean[what], color=colour, linestyle=LINE[way.name], linewidth=2.2, label=way.label
    )


def _noise_plot(config: Setting, tables: RunTables, ways: Sequence[Strategy], source: str) -> Plot:
    """Distance from E against epochs, with the random walk that sampling predicts."""
    paths = tables["paths"]
    later = paths[paths["epoch"] > 0]
    figure = new_figure(7.2, 4.2)
    with style():
        axes = figure.subplots()
        for way in ways:
            if way.name == "equivariant":
                continue
            rows, colour = later[later["strategy"] == way.name], COLOUR[way.name]
            for _, run in rows.groupby("run"):
                axes.plot(run["epoch"], run["drift"], color=colour, alpha=0.3, linewidth=0.8)
            mean = rows.groupby("epoch")["drift"].mean()
            axes.plot(mean.index, mean.to_numpy(), color=colour, linestyle=LINE[way.name], label=way.label)
        epochs = np.arange(1, config.epochs + 1)
        step = config.rate * tables["noise"]["step"].mean()
        axes.plot(
            epochs,
            step * np.sqrt(epochs),
            "o",
            color="#8b939c",
            markersize=3,
            label="predicted sampling noise",
        )
        axes.set(xscale="log", yscale="log", xlabel="epoch", ylabel="$|A_{E^\\perp}|$")
        axes.grid(True)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=9)
    return Plot(
        name="noise",
        figure=figure,
        title="Distance from E against time, and what sampling predicts",
        source=f"{source}, beyond the paper",
        alt="Distance from E against epochs on logarithmic axes: NOMINAL grows in proportion to time, "
        "AUGMENTED like its root, on the dots of the prediction.",
        caption="Dots: a random walk whose steps are the gradients of mini-batches outside E, over the "
        "root of batches times passes. Nothing is fitted. EQUIVARIANT is left out.",
    )
