"""Figures of the propositions: kernel matrices, their spectra, and the images of the proofs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.spectral.propositions.config import Propositions
from symscope_papers.spectral.propositions.examples import proof_images
from symscope_papers.spectrum_plots import draw_spectra

READOUTS = (("fc", "dense read-out"), ("gap", "global pooling"))
ORBITS = (("translation", "shifts"), ("rotation", "quarter turns"))


def draw_plots(config: Propositions, tables: RunTables) -> list[Plot]:
    """All figures; those of single matrices are NNGPs with the first filter."""
    side = config.filters[0]
    entries = tables["entries"][tables["entries"]["filter"] == side]
    spectra = tables["spectra"][tables["spectra"]["filter"] == side]
    return [matrix_plot(entries, side), spectrum_plot(spectra, side), example_plot(entries, side)]


def matrix_plot(entries: pd.DataFrame, side: int) -> Plot:
    """The four kinds of matrix over the orbit of one digit."""
    digit = entries[entries["kind"] == "digit"]
    figure = new_figure(7.4, 6.4)
    with style():
        panels = figure.subplots(2, 2)
        for row, (readout, words) in enumerate(READOUTS):
            for column, (orbit, moves) in enumerate(ORBITS):
                axes = panels[row, column]
                part = digit[(digit["readout"] == readout) & (digit["orbit"] == orbit)]
                matrix = _matrix(part)
                if readout == "fc":
                    image = axes.imshow(matrix, cmap="cividis", vmin=0, vmax=1)
                else:
                    image = _fall(axes, matrix)
                axes.set_title(f"{words}, {moves}")
                axes.set(xlabel=f"image ({moves})", ylabel=f"image ({moves})")
                _whole_ticks(axes, len(matrix))
            label = "kernel / its largest value"
            figure.colorbar(image, ax=panels[row], shrink=0.9, label=label if row == 0 else f"1 - {label}")
    return Plot(
        name="matrices",
        figure=figure,
        title="Kernel matrices over one orbit",
        source="Prop. 1-4",
        alt="Four kernel matrices over the orbit of one digit: equal values along wrapped diagonals in all "
        "four, and one single value for global pooling over shifts.",
        caption=f"NNGP of one convolution with filters {side} x {side}; in the lower row how far each "
        "entry is below the largest. Every matrix is circulant; only global pooling over shifts makes it "
        "constant, to rounding.",
    )


def spectrum_plot(spectra: pd.DataFrame, side: int) -> Plot:
    """Eigenvalues against frequency, a line for each digit."""
    figure = new_figure(7.4, 5.2)
    with style():
        panels = figure.subplots(2, 2, sharey=True)
        for row, (readout, words) in enumerate(READOUTS):
            for column, (orbit, moves) in enumerate(ORBITS):
                axes = panels[row, column]
                part = spectra[(spectra["readout"] == readout) & (spectra["orbit"] == orbit)]
                draw_spectra(axes, part, "image", COLOURS[row])
                axes.set(title=f"{words}, {moves}", xlabel="frequency")
                _whole_ticks(axes, int(part["frequency"].max()) + 1, both=False)
            panels[row, 0].set_ylabel("eigenvalue / the largest")
    return Plot(
        name="spectra",
        figure=figure,
        title="Their spectra",
        source="Prop. 1-4",
        alt="Eigenvalues against frequency for each digit in four panels. They fall by decades in three; "
        "for global pooling over shifts all but frequency zero are rounding, near 1e-16.",
        caption=f"Filters {side} x {side}; one line for each digit. Where eigenvalues vanish, their inverses "
        "in the denominator of Eq. 7 diverge, and the error is zero.",
    )


def example_plot(entries: pd.DataFrame, side: int) -> Plot:
    """The images App. C takes in its proofs, and the matrices they give."""
    shown = [
        (readout, orbit, name, image)
        for readout, orbit in (("fc", "translation"), ("fc", "rotation"), ("gap", "rotation"))
        for name, image in proof_images(readout, orbit).items()
    ]
    figure = new_figure(2.4 * len(shown), 4.9)
    with style():
        panels = figure.subplots(2, len(shown), squeeze=False)
        for column, (readout, orbit, name, image) in enumerate(shown):
            part = entries[
                (entries["readout"] == readout) & (entries["orbit"] == orbit) & (entries["image"] == name)
            ]
            top, bottom = panels[:, column]
            top.imshow(image.numpy(), cmap="cividis", vmin=0, vmax=1)
            top.set_title(f"{name},\n{dict(READOUTS)[readout]},\n{dict(ORBITS)[orbit]}", fontsize=10)
            top.set(xticks=[], yticks=[])
            matrix = _matrix(part)
            shades = _fall(bottom, matrix)
            values = np.linalg.eigvalsh(matrix)
            bottom.set_xlabel(f"rank {int((values > 1e-10 * values[-1]).sum())} of {len(matrix)}")
            _whole_ticks(bottom, len(matrix))
        figure.colorbar(shades, ax=panels[1], shrink=0.8, label="1 - kernel / largest")
    return Plot(
        name="examples",
        figure=figure,
        title="The images of the proofs",
        source="App. C",
        alt="Above, images with one or two bright pixels; below, their kernel matrices: multiples of the "
        "identity for one pixel, full rank for two different pixels, rank two for two equal pixels.",
        caption=f"NNGP, filters {side} x {side}. Two equal pixels look the same upside down to a network "
        "that pools; the example of Prop. 4 needs two different ones.",
    )


def _fall(axes: Any, matrix: np.ndarray) -> Any:
    """How far entries are below the largest, on a logarithmic scale: rounding is one end, zeros the other."""
    from matplotlib.colors import LogNorm

    return axes.imshow((1 - matrix).clip(1e-16, 1), cmap="cividis_r", norm=LogNorm(1e-16, 1))


def _matrix(part: pd.DataFrame) -> np.ndarray:
    return part.pivot(index="row", columns="column", values="value").to_numpy()


def _whole_ticks(axes: Any, count: int, both: bool = True) -> None:
    """Ticks on whole numbers, not more than about seven."""
    ticks = list(range(0, count, -(-count // 7)))
    axes.set_xticks(ticks)
    if both:
        axes.set_yticks(ticks)
