"""Figures of `spectral/conv-shifts`."""

from __future__ import annotations

import pandas as pd

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.chart_parts import shared_legend, wrong_line
from symscope_papers.spectral.conv_shifts.config import ConvShifts
from symscope_papers.spectral.pairs.figures import angle_axis, angle_scatter, draw_geometry, draw_quantiles
from symscope_papers.spectrum_plots import draw_spectra

NAMES = {"fc": "dense read-out", "gap": "global pooling"}


def draw_plots(config: ConvShifts, tables: RunTables) -> list[Plot]:
    """Scatter of the dense read-out, errors of both, their spectra, and geometry."""
    pairs = tables["pairs"][tables["pairs"]["kernel"] == "NTK"]
    fc = pairs[pairs["readout"] == "fc"]
    return [
        scatter_plot(fc),
        error_plot(pairs),
        spectrum_plot(tables["spectra"], config.shown),
        geometry_plot(fc[fc["angles"] == config.shown], config.shown),
    ]


def scatter_plot(fc: pd.DataFrame) -> Plot:
    """Spectral against exact error of the dense read-out, a panel for each number of positions."""
    figure, each = angle_scatter(fc, "spectral", "exact", ("spectral error (Eq. 7)", "exact error"))
    return Plot(
        name="spectral-fc",
        figure=figure,
        title="Dense read-out: spectral error against regression",
        source="App. G.2",
        alt="Scatter plots, one for each number of positions, of the spectral error against the exact error "
        f"of {fc['pair'].nunique()} pairs of shifted digits, coloured by correctness ({each}).",
        caption="Each dot is a pair of digits, shifted along x around the image. Above 1 the missing "
        "position is put into the other class.",
    )


def error_plot(pairs: pd.DataFrame) -> Plot:
    """Errors of both read-outs against n; those of pooling are zero."""
    figure = new_figure(7.2, 4.0)
    with style():
        axes = figure.subplots()
        for (readout, words), colour in zip(NAMES.items(), COLOURS, strict=False):
            draw_quantiles(axes, pairs[pairs["readout"] == readout], colour, words)
        wrong_line(axes, "wrong above, right below")
        angle_axis(axes, pairs["angles"].unique().tolist(), "positions n of an orbit")
        axes.set_ylabel("exact error")
        axes.grid(True)
        axes.legend(fontsize=9)
    worst = pairs[pairs["readout"] == "gap"]["exact"].abs().max()
    return Plot(
        name="errors",
        figure=figure,
        title="Errors against the number of positions",
        source="App. G.2",
        alt="Errors against the number of positions, of a dense read-out and of global pooling, whose "
        f"largest is {worst:.1g}.",
        caption="Median, and range from 10 to 90 % of pairs. With pooling nothing was added to the "
        "diagonal: the kernel is zero on every other frequency, and the limit is taken exactly.",
    )


def spectrum_plot(spectra: pd.DataFrame, shown: int) -> Plot:
    """Circularised spectra of some pairs for both read-outs."""
    figure = new_figure(8.2, 3.5)
    with style():
        panels = figure.subplots(1, 2, sharey=True)
        for axes, (readout, words), colour in zip(panels, NAMES.items(), COLOURS, strict=False):
            part = spectra[(spectra["readout"] == readout) & (spectra["angles"] == shown)]
            draw_spectra(axes, part, "pair", colour)
            axes.set(title=words, xlabel="frequency (the labels' own is the last)")
        panels[0].set_ylabel("eigenvalue / the largest")
    return Plot(
        name="spectra",
        figure=figure,
        title="Why: the spectra",
        source="App. G.2, Prop. 2",
        alt="Eigenvalues of circularised kernels against frequency: with a dense read-out all are large; "
        "with global pooling only the first and the last are, the others are rounding near 1e-16.",
        caption=f"{shown} positions, {spectra['pair'].nunique()} pairs. Eigenvalues that vanish make the "
        "denominator of Eq. 7 infinite.",
    )


def geometry_plot(part: pd.DataFrame, shown: int) -> Plot:
    """lambda_N against separation, the mean inverse against density, dense read-out."""
    figure = new_figure(8.2, 3.7)
    with style():
        panels = figure.subplots(1, 2)
        values = draw_geometry(panels, part)
        shared_legend(figure, panels)
    return Plot(
        name="geometry",
        figure=figure,
        title="What the spectrum means in input space, dense read-out",
        source="App. G.2",
        alt=f"Two scatter plots of pairs: lambda N against the separation of orbits (r {values[0]:.2f}), "
        f"the mean inverse spectrum against their density (r {values[1]:.2f}).",
        caption=f"{shown} positions, dense read-out.",
    )
