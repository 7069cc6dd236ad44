"""Figures of `spectral/conv-shifts`."""

from __future__ import annotations

from typing import Any

import pandas as pd

from symscope.report import COLOURS, WRONG, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.scatter_plots import agreement, coloured_dots, scatter_grid
from symscope_papers.spectral.pairs.angles import angle_axis, by_angles

NAMES = {"fc": "dense read-out", "gap": "global pooling"}
FLOOR = 1e-17


def draw_plots(config: Any, tables: RunTables) -> list[Plot]:
    """Scatter of the dense read-out, errors of both, their spectra, and geometry."""
    pairs = tables["pairs"]
    fc = pairs[pairs["readout"] == "fc"]
    return [
        scatter_plot(fc),
        error_plot(pairs),
        spectrum_plot(tables["spectra"], config.shown),
        geometry_plot(fc[fc["angles"] == config.shown], config.shown),
    ]


def scatter_plot(fc: pd.DataFrame) -> Plot:
    """Spectral against exact error of the dense read-out, a panel for each number of positions."""
    panels = [(f"n = {n}", part) for n, part in by_angles(fc).items()]
    figure = scatter_grid(panels, "spectral", "exact", ("spectral error (Eq. 7)", "exact error"))
    each = "; ".join(
        f"n = {n}: r {agreement(part, 'spectral', 'exact')[0]:.3f}" for n, part in by_angles(fc).items()
    )
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
            part = pairs[pairs["readout"] == readout]
            low, middle, high = (part.groupby("angles")["exact"].quantile(q) for q in (0.1, 0.5, 0.9))
            axes.plot(middle.index, middle, "o-", color=colour, label=words)
            axes.fill_between(middle.index, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.axhline(1, color=WRONG, linewidth=1, linestyle="--")
        axes.annotate(
            "wrong above, right below",
            (0.99, 1),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="bottom",
            color=WRONG,
            fontsize=9,
        )
        angle_axis(axes, pairs["angles"].unique().tolist())
        axes.set(xlabel="positions n of an orbit", ylabel="exact error")
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
            for _, one in part.groupby("pair"):
                height = one["relative_eigenvalue"].abs().clip(lower=FLOOR)
                axes.semilogy(
                    one["frequency"], height, "o-", color=colour, alpha=0.4, markersize=3, linewidth=1
                )
            axes.set(title=words, xlabel="frequency (the labels' own is the last)")
            axes.grid(True)
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
    values = []
    with style():
        for axes, x, y, labels in zip(
            figure.subplots(1, 2),
            ("separation", "density"),
            ("lambda_n", "mean_inverse"),
            (("orbit separation (squared)", r"$\lambda_N$"), ("orbit density (1 / radius)", "mean of 1/λ")),
            strict=True,
        ):
            coloured_dots(axes, part, x, y, "exact")
            values.append(agreement(part, x, y)[0])
            axes.set(xlabel=labels[0], ylabel=labels[1], title=f"r = {values[-1]:.2f}")
            axes.ticklabel_format(axis="y", scilimits=(-2, 3))
        handles, names = axes.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=2, fontsize=9)
    return Plot(
        name="geometry",
        figure=figure,
        title="What the spectrum means in input space, dense read-out",
        source="App. G.2",
        alt=f"Two scatter plots of pairs: lambda N against the separation of orbits (r {values[0]:.2f}), "
        f"the mean inverse spectrum against their density (r {values[1]:.2f}).",
        caption=f"{shown} positions, dense read-out.",
    )
