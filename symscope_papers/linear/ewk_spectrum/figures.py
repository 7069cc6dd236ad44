"""Figure of `linear/ewk-spectrum`: histograms of eigenvalues."""

from __future__ import annotations

import math

from symscope.report import COLOURS, WRONG, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.linear.ewk_spectrum.config import SMALL, Ewk


def draw_plots(config: Ewk, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    table, kinds = tables["eigenvalues"], [(a, s) for a in config.activations for s in config.starts]
    figure = new_figure(7.6, 2.9 * ((len(kinds) + 1) // 2) + 0.5)
    with style():
        axes = figure.subplots((len(kinds) + 1) // 2, min(2, len(kinds)), squeeze=False, sharex=True)
        lowest = table.loc[table["value"] > 0, "value"].min()
        low, high = math.log10(lowest), math.log10(table["value"].max())
        edges = [10 ** (low + (high - low) * i / 40) for i in range(40)] + [table["value"].max()]
        for panel, (activation, start) in zip(axes.flat, kinds, strict=False):
            part = table[(table["activation"] == activation) & (table["start"] == start)]
            positive = part.loc[part["value"] > 0, "value"]
            count = len(part) / config.networks
            panel.hist(
                positive,
                bins=edges,
                weights=[1 / config.networks] * len(positive),
                color=COLOURS[0],
                alpha=0.75,
            )
            panel.axvline(SMALL, color=WRONG, linestyle="--", linewidth=1.2)
            zeros = 100 * float((part["value"] == 0).mean())
            small = 100 * float((part["value"] < SMALL).mean())
            title = f"{activation}, {start}: {zeros:.0f} % zero, {small:.0f} % below {SMALL:g}"
            panel.set_title(title, fontsize=9.5)
            panel.set(xscale="log")
            panel.set_ylabel(f"eigenvalues of {count:.0f}")
            panel.grid(True, axis="y")
        for panel in axes.flat[len(kinds) :]:
            panel.set_visible(False)
        for panel in axes[-1]:
            panel.set_xlabel("eigenvalue")
    return [
        Plot(
            "spectrum",
            figure,
            "Spectrum of the empirical weights kernel",
            "Fig. 5",
            "Histograms of the non-zero eigenvalues on a logarithmic axis over many orders of magnitude, one "
            "panel per activation and initialisation, with a dashed line at 0.2.",
            f"Mean histogram of {config.networks} networks; zero eigenvalues are not drawn, as in the paper, "
            "but counted in the titles. Left of the dashed line 1000 epochs at 0.01 do not suffice.",
        )
    ]
