"""Figure of `dynamics/spectra`."""

from __future__ import annotations

from matplotlib.ticker import SymmetricalLogLocator

from symscope.report import COLOURS, WRONG, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.dynamics.spectra.config import Spectra

NEAR = 1e-4  # eigenvalues up to which the axis is linear
MARKS = {"start": "o", "trained": "^"}


def draw_plots(config: Spectra, tables: RunTables) -> list[Plot]:
    """The ends of the spectrum of every task, before and after training."""
    table = tables["spectra"]
    figure = new_figure(6.8, 3.4)
    with style():
        axes = figure.subplots()
        for k, task in enumerate(config.tasks):
            for moment, mark in MARKS.items():
                part = table[(table["task"] == task) & (table["moment"] == moment)]
                height = [k + (0.15 if moment == "start" else -0.15)] * len(part)
                label = None if k else f"lowest outside E, {moment}"
                axes.plot(part["lowest"], height, mark, color=COLOURS[1], label=label)
                label = None if k else f"lowest on E, {moment}"
                axes.plot(
                    part["lowest_inside"], height, mark, color=COLOURS[0], fillstyle="none", label=label
                )
        axes.axvline(0, color=WRONG, linestyle="--", linewidth=1)
        axes.set_xscale("symlog", linthresh=NEAR, linscale=1.0)
        ends = table[["lowest", "lowest_inside"]].to_numpy()
        axes.set_xlim(min(3 * float(ends.min()), -NEAR), max(3 * float(ends.max()), 3 * NEAR))
        axes.xaxis.set_major_locator(SymmetricalLogLocator(base=100, linthresh=NEAR))
        axes.set_yticks(range(len(config.tasks)), config.tasks)
        axes.set_ylim(-0.5, len(config.tasks) - 0.5)
        axes.set_xlabel("eigenvalue of the Hessian of the augmented risk")
        axes.grid(True, axis="x")
        axes.legend(fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    lowest = table["lowest"]
    return [
        Plot(
            name="spectra",
            figure=figure,
            title="Curvature outside and on E, networks of Fig. 1",
            source="Sec. 6",
            alt="Dot plot of the lowest eigenvalue outside and on E for each task at the start and after "
            f"training; outside it lies between {lowest.min():.2g} and {lowest.max():.2g}.",
            caption="Left of the dashed line there is a direction along which training leaves E, or, on E, "
            "goes on inside it. The axis is linear near zero and logarithmic beyond.",
        )
    ]
