"""Figures of `spectral/conv-rotations`, in the paper's layout."""

from __future__ import annotations

import pandas as pd

from symscope.report import COLOURS, FAINT, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.chart_parts import shared_legend, wrong_line
from symscope_papers.scatter_plots import agreement
from symscope_papers.spectral.conv_rotations.config import ConvRotations
from symscope_papers.spectral.pairs.angles import correlations
from symscope_papers.spectral.pairs.figures import (
    EXACT,
    angle_axis,
    angle_scatter,
    draw_geometry,
    draw_quantiles,
)
from symscope_papers.spectral.wide_networks import READOUTS
from symscope_papers.spectrum_plots import inverse_panels

SOURCES = {"fc": "Fig. 5C, App. G.1", "gap": "Fig. 5D, App. G.1", "gap-apart": "Fig. 16"}
LINES = (("spectral", "exact", "o-"), ("projected", "exact", "s--"), ("projected", "mean_exact", "^:"))
FORMULAS = {"spectral": "spectral error (Eq. 7)", "projected": "error of the exact group form"}


def draw_plots(config: ConvRotations, tables: RunTables) -> list[Plot]:
    """The paper's scatters, geometry and inverse spectra for the first filter; a summary of every filter.

    The group form has a scatter where the network pools, which is where it and Eq. 7 part.
    """
    side = config.filters[0]
    every = tables["pairs"][tables["pairs"]["kernel"] == "NTK"]
    pairs, spectra = (table[table["filter"] == side] for table in (every, tables["spectra"]))
    return [
        *(scatter_plot(pairs, readout, side, "spectral") for readout in READOUTS),
        scatter_plot(pairs, "gap", side, "projected"),
        inverse_plot(pairs, spectra, side, config.shown),
        geometry_plot(pairs, side, config.shown),
        *(summary_plot(every, one) for one in config.filters),
    ]


def scatter_plot(pairs: pd.DataFrame, readout: str, side: int, column: str) -> Plot:
    """A predicted error against the exact one, a panel for each number of angles."""
    mine = pairs[pairs["readout"] == readout]
    figure, each = angle_scatter(mine, column, "exact", (FORMULAS[column], EXACT))
    count = mine["pair"].nunique()
    return Plot(
        name=f"{column}-{readout}-{side}",
        figure=figure,
        title=f"{READOUTS[readout].capitalize()}, {side} x {side}: {FORMULAS[column]} against regression",
        source=SOURCES[readout] if column == "spectral" else "beyond the paper",
        alt=f"Scatter plots, one for each number of angles, of the {FORMULAS[column]} against the exact "
        f"symmetrised error of {count} pairs, coloured by correctness ({each}).",
        caption=f"Each dot is a pair of digits ({count} pairs, NTK). Above 1 the missing image is "
        "put into the other class.",
    )


def geometry_plot(pairs: pd.DataFrame, side: int, shown: int) -> Plot:
    """lambda_N against separation and the mean inverse against density, for every read-out."""
    figure = new_figure(7.2, 8.4)
    values = []
    with style():
        grid = figure.subplots(len(READOUTS), 2)
        for row, (readout, words) in zip(grid, READOUTS.items(), strict=True):
            part = pairs[(pairs["readout"] == readout) & (pairs["angles"] == shown)]
            values += draw_geometry(row, part, f"{words}: r = {{:.2f}}")
        shared_legend(figure, grid.flat)
    return Plot(
        name=f"geometry-{side}",
        figure=figure,
        title=f"What the spectrum means in input space, filters {side} x {side}",
        source="Fig. 7, App. G.1",
        alt="Scatter plots in three rows, dense read-out, pooling, pooling with filters apart: lambda N "
        f"against the separation of orbits (r {', '.join(f'{r:.2f}' for r in values[::2])}) and the mean "
        f"inverse spectrum against orbit density (r {', '.join(f'{r:.2f}' for r in values[1::2])}).",
        caption=f"{shown} angles. Numerator and denominator of Eq. 7 have a meaning in input space as far as "
        "they follow separation and density: r is Pearson's.",
    )


def inverse_plot(pairs: pd.DataFrame, spectra: pd.DataFrame, side: int, shown: int) -> Plot:
    """The inverse spectrum of each read-out's middling pair."""
    parts = []
    for readout, words in READOUTS.items():
        part = spectra[(spectra["readout"] == readout) & (spectra["angles"] == shown)]
        mine = pairs[(pairs["readout"] == readout) & (pairs["angles"] == shown)]
        row = mine.set_index("pair").loc[part["pair"].iloc[0]]
        title = words.removeprefix("global pooling, ")
        parts.append((f"{title}\nerror {row['exact']:.2f}, spectral {row['spectral']:.2f}", part))
    return Plot(
        name=f"inverse-{side}",
        figure=inverse_panels(parts),
        title=f"Why: inverse spectra, filters {side} x {side}",
        source="Fig. 5, 7",
        alt="Inverse spectra for the three read-outs: a hatched rectangle of height one over lambda N "
        "against the shaded area under the curve.",
        caption=f"{shown} angles, the pair whose error is in the middle. The spectral error is the hatched "
        "rectangle over the shaded area.",
    )


def summary_plot(pairs: pd.DataFrame, side: int) -> Plot:
    """Errors and agreement against n for every read-out, one filter."""
    mine = pairs[pairs["filter"] == side]
    figure = new_figure(9.2, 3.9)
    with style():
        errors, fit = figure.subplots(1, 2)
        for (readout, words), colour in zip(READOUTS.items(), COLOURS, strict=False):
            part = mine[mine["readout"] == readout]
            draw_quantiles(errors, part, colour, words)
            for column, exact, line in LINES:
                values = correlations(part, column, exact)
                fit.plot(list(values), list(values.values()), line, color=colour)
        wrong_line(errors)
        errors.set(title="error: median, and 10 to 90 %", ylabel=EXACT)
        fit.set(title="agreement with the exact error", ylabel="Pearson r")
        fit.plot([], [], "o-", color=FAINT, label="spectral error (paper)")
        fit.plot([], [], "s--", color=FAINT, label="exact group form")
        fit.plot([], [], "^:", color=FAINT, label="the same, mean over the missing angle")
        for axes in (errors, fit):
            angle_axis(axes, mine["angles"].unique().tolist())
            axes.grid(True)
        shared_legend(figure, (errors, fit), "lower center", columns=3)
    last = int(mine["angles"].max())
    words = "; ".join(_fits(mine[mine["angles"] == last], readout) for readout in READOUTS)
    return Plot(
        name=f"summary-{side}",
        figure=figure,
        title=f"Errors and agreement against the number of angles, filters {side} x {side}",
        source="Fig. 5C-D, 16",
        alt="Left, errors against the number of angles for the three read-outs. Right, Pearson's r of the "
        f"spectral error and of the exact group form with the exact error; at {last} angles {words}.",
        caption=f"At {last} angles {words}.",
    )


def _fits(table: pd.DataFrame, readout: str) -> str:
    """Pearson's r of each line of the summary, in words."""
    part = table[table["readout"] == readout]
    spectral, projected, averaged = (agreement(part, one, exact)[0] for one, exact, _ in LINES)
    return (
        f"{READOUTS[readout]}: spectral {spectral:.2f}, group form {projected:.2f}, averaged {averaged:.2f}"
    )
