"""Figures of `discovery/exact`: generators with names, dimensions against theory, singular values."""

from __future__ import annotations

import numpy as np
import pandas as pd

from symscope.report import COLOURS, WRONG, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.discovery.exact.config import Exact
from symscope_papers.discovery.heat_maps import heat_map

SHOWN = ("linear 1-2-1", "ReLU 2-2-2", "attention 2-2")
SPECTRA = ("linear 2-3-2", "ReLU 3-4-2", "tanh 2-3-2", "sigmoid 2-2-2")


def draw_plots(config: Exact, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    return [
        *generator_plots(tables["generators"], config.seeds[0]),
        dimension_plot(tables["networks"]),
        spectrum_plot(tables["spectra"], config.seeds[0]),
    ]


def short_name(name: str) -> str:
    """A generator's name without the part all of one network share."""
    if name.startswith("linear field on"):
        return "mixes both layers"
    head, _, place = name.replace("mixing of unit", "unit").partition(" of the ")
    ends = {"products of": " (QK)", "hidden units between V": " (VO)"}
    return head + next((end for start, end in ends.items() if place.startswith(start)), "")


def generator_plots(generators: pd.DataFrame, seed: int) -> list[Plot]:
    """A row of labelled heat maps for each network shown."""
    plots = []
    for network in SHOWN:
        part = generators[(generators["network"] == network) & (generators["number"] == seed)]
        if len(part):
            plots.append(_generators(network, part))
    return plots


def _generators(network: str, part: pd.DataFrame) -> Plot:
    count, size = int(part["generator"].max()) + 1, int(part["size"].iloc[0])
    named = {
        **dict(zip(part["row"], part["row_name"], strict=True)),
        **dict(zip(part["column"], part["column_name"], strict=True)),
    }
    names = [named.get(k, "") for k in range(size)]
    columns = min(count, 3)
    lines = -(-count // columns)
    figure = new_figure(7.2, 0.4 + lines * 2.9)
    with style():
        grid = figure.subplots(lines, columns, squeeze=False)
        for number in range(lines * columns):
            axes = grid[number // columns][number % columns]
            one = part[part["generator"] == number]
            if not len(one):
                axes.set_axis_off()
                continue
            table = np.zeros((size, size))
            table[one["row"].to_numpy(), one["column"].to_numpy()] = one["value"].to_numpy()
            heat_map(axes, table, names, short_name(one["name"].iloc[0]), first=number % columns == 0)
    slug = network.lower().replace(" ", "-")
    return Plot(
        name=f"generators-{slug}",
        figure=figure,
        title=f"Generators found: {network} (inputs - hidden - outputs)",
        source="Fig. 2, 5",
        alt=f"Heat maps of {count} generators of the network {network}, axes labelled with the weights; each "
        "generator has a few entries of size one and is zero elsewhere.",
        caption="A row's weight moves in proportion to a column's weight: blue forwards, red backwards. "
        "At most six generators are shown.",
    )


def dimension_plot(networks: pd.DataFrame) -> Plot:
    """Dimension found against dimension of theory, for every run."""
    figure = new_figure(7.2, 4.0)
    with style():
        axes = figure.subplots()
        top = max(2, int(networks["expected"].max()), int(networks["found"].max()))
        axes.plot([0, top], [0, top], color=WRONG, linewidth=1, linestyle="--", label="theory")
        families = list(dict.fromkeys(networks["family"]))
        for number, family in enumerate(families):
            part = networks[networks["family"] == family].groupby("network").first()
            axes.plot(
                part["expected"],
                part["found"],
                "osD^vP*X<>"[number % 10],
                label=family,
                color=COLOURS[number % len(COLOURS)],
                fillstyle="none",
                markersize=8,
            )
        axes.set(
            xlabel="dimension by theory",
            ylabel="dimension found",
            xscale="symlog",
            yscale="symlog",
            xlim=(-0.3, 1.3 * top),
            ylim=(-0.3, 1.3 * top),
        )
        axes.grid(True)
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return Plot(
        name="dimensions",
        figure=figure,
        title="How many linear symmetries there are",
        source="beyond the paper",
        alt="Scatter of the dimension found against the dimension of theory for every network; all points "
        "lie on the diagonal when theory and search agree.",
        caption="One point per network (linear up to 1, then logarithmic axes). Smooth activations are at 0.",
    )


def spectrum_plot(spectra: pd.DataFrame, seed: int) -> Plot:
    """Singular values of the constraints, with the floor of rounding."""
    figure = new_figure(7.2, 4.0)
    with style():
        axes = figure.subplots()
        here = list(dict.fromkeys(spectra["network"]))
        shown = [network for network in SPECTRA if network in here] or here[:4]
        for colour, network in zip(COLOURS, shown, strict=False):
            part = spectra[(spectra["network"] == network) & (spectra["number"] == seed)]
            share = (part["index"] + 1) / len(part)
            axes.semilogy(share, part["value"].clip(lower=1e-18), ".", color=colour, label=network)
        if len(spectra):
            axes.axhline(float(spectra["floor"].median()), color=WRONG, linewidth=1, linestyle="--")
            axes.annotate(
                "zero to rounding below",
                (0.02, float(spectra["floor"].median())),
                fontsize=8,
                xytext=(0, -12),
                textcoords="offset points",
            )
        axes.set(xlabel="singular values in order, as a share of all", ylabel="value over the largest")
        axes.grid(True)
        axes.legend(fontsize=9, loc="center left")
    return Plot(
        name="spectra",
        figure=figure,
        title="The gap that decides the dimension",
        source="beyond the paper",
        alt="Singular values of the constraint matrices: flat, then a step of many decades down to rounding "
        "for networks with symmetries, no step for smooth activations.",
        caption="Values below the dashed line are generators. tanh and sigmoid have none.",
    )
