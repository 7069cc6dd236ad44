"""Figures of `dynamics/stability`."""

from __future__ import annotations

import pandas as pd

from symscope.report import COLOURS, INK, WRONG, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.dynamics.stability.config import Stability

EACH = (*COLOURS, INK)  # of seven groups


def draw_plots(config: Stability, tables: RunTables) -> list[Plot]:
    """Spectrum along training, drift predicted and measured, growth rates, and sampling noise."""
    return [
        spectrum_plot(tables["spectrum"]),
        drift_plot(tables["drift"]),
        rate_plot(tables["rates"]),
        noise_plot(tables["noise"]),
    ]


def spectrum_plot(spectrum: pd.DataFrame) -> Plot:
    """The lowest eigenvalue outside and inside E against time, one faint line per problem."""
    figure = new_figure(8.6, 3.6)
    with style():
        panels = figure.subplots(1, 2, sharey=True)
        for axes, part, title in zip(panels, ("outside", "inside"), ("outside E", "on E"), strict=True):
            chosen = spectrum[spectrum["part"] == part]
            for colour, (group, runs) in zip(EACH * 3, chosen.groupby("group", sort=False), strict=False):
                for k, (_, run) in enumerate(runs.groupby(["layers", "problem"])):
                    axes.plot(
                        run["time"],
                        run["lowest"],
                        color=colour,
                        linewidth=1.3,
                        alpha=0.75,
                        linestyle="-" if run["layers"].iloc[0] == 2 else ":",
                        label=str(group) if k == len(runs.groupby(["layers", "problem"])) - 1 else None,
                    )
            axes.axhline(0, color=WRONG, linestyle="--", linewidth=1)
            axes.set_xscale("symlog", linthresh=float(spectrum["time"][spectrum["time"] > 0].min()))
            axes.set_yscale("symlog", linthresh=1e-2, linscale=0.3)
            axes.set_xlim(left=0)
            axes.set(title=f"lowest eigenvalue {title}", xlabel="time (rate × steps)")
            axes.grid(True)
        panels[0].set_ylabel("curvature of the augmented risk")
        panels[1].legend(fontsize=9, title="group", loc="center left", bbox_to_anchor=(1.0, 0.5))
    last = spectrum[(spectrum["part"] == "outside") & (spectrum["time"] == spectrum["time"].max())]
    return Plot(
        name="spectrum",
        figure=figure,
        title="Stability of E along training",
        source="Sec. 4.2, beyond the paper",
        alt="Two panels of the lowest eigenvalue of the Hessian of the augmented risk against time, outside "
        f"E and on E; outside it ends between {last['lowest'].min():.2g} and {last['lowest'].max():.2g}.",
        caption="Below the dashed line there is a direction out of E along which deviations grow. Dotted: "
        "one linear layer, whose risk is convex. Both axes are linear near zero and logarithmic beyond.",
    )


def drift_plot(drift: pd.DataFrame) -> Plot:
    """Drift against time: lines predicted, dots measured."""
    figure = new_figure(7.2, 4.0)
    with style():
        axes = figure.subplots()
        for colour, (group, runs) in zip(EACH * 3, drift.groupby("group", sort=False), strict=False):
            for k, (_, run) in enumerate(runs.groupby(["layers", "problem"])):
                axes.plot(
                    run["time"],
                    run["predicted"],
                    color=colour,
                    linewidth=1.2,
                    alpha=0.7,
                    linestyle="-" if run["layers"].iloc[0] == 2 else ":",
                    label=str(group) if k == len(runs.groupby(["layers", "problem"])) - 1 else None,
                )
                axes.plot(run["time"], run["measured"], "o", color=colour, markersize=4, fillstyle="none")
        axes.set(xlabel="time (rate × steps)", ylabel="distance from E", yscale="log")
        axes.grid(True)
        axes.legend(fontsize=9, title="group", loc="center left", bbox_to_anchor=(1.0, 0.5))
    start = drift["measured"][drift["time"] == 0].iloc[0]
    return Plot(
        name="drift",
        figure=figure,
        title="Distance from E: predicted and measured",
        source="Sec. 4.2",
        alt=f"The distance from E against time, from {start:.1g} on, for every problem: measured dots lie on "
        "the lines predicted by linearisation, down to the error of integration.",
        caption="Lines: y' = -Hess R_aug(x) y along the equivariant flow. Dots: the augmented flow itself, "
        "from the same small step off E. Where deviations fall to nothing (dotted: one layer), dots end at "
        "the error of integration, 1e-10 of a layer's size.",
    )


def rate_plot(rates: pd.DataFrame) -> Plot:
    """Growth rates: eigenvalues against what a short flow shows."""
    figure = new_figure(4.8, 4.2)
    with style():
        axes = figure.subplots()
        for colour, end, words in (
            (COLOURS[1], "lowest", "along the lowest eigenvector"),
            (COLOURS[0], "highest", "along the highest eigenvector"),
        ):
            part = rates[rates["end"] == end]
            axes.plot(
                part["predicted"], part["measured"], "o", color=colour, markersize=4, alpha=0.7, label=words
            )
        ends = [rates["predicted"].min(), rates["predicted"].max()]
        axes.plot(ends, ends, color=COLOURS[2], linewidth=1)
        axes.set_xscale("symlog", linthresh=1e-2)
        axes.set_yscale("symlog", linthresh=1e-2)
        axes.set(xlabel="predicted growth rate (minus eigenvalue)", ylabel="measured growth rate")
        axes.grid(True)
        axes.legend(fontsize=9, loc="upper left")
    return Plot(
        name="rates",
        figure=figure,
        title="Growth rates: predicted and measured",
        source="beyond the paper",
        alt=f"Scatter plot of {len(rates)} measured growth rates against minus the eigenvalues; all lie on "
        "the diagonal.",
        caption="Each dot is one moment of one training: a step of 1e-6 along an extreme eigenvector, then "
        "the augmented flow for a short time.",
    )


def noise_plot(noise: pd.DataFrame) -> Plot:
    """Drift of sampled augmentation against the number of passes, relative to nominal drift."""
    from matplotlib.ticker import NullLocator

    figure = new_figure(6.4, 3.8)
    with style():
        axes = figure.subplots()
        for colour, (group, part) in zip(EACH * 3, noise.groupby("group", sort=False), strict=False):
            ratio = part["sampled"] / part["nominal"]
            axes.plot(part["passes"], ratio, "o", color=colour, markersize=5, alpha=0.7, label=str(group))
        line = noise.drop_duplicates("passes").sort_values("passes")
        axes.plot(
            line["passes"], line["predicted"] / line["nominal"], color=WRONG, linewidth=1.2, label="theory"
        )
        axes.set(
            xscale="log", yscale="log", xlabel="random elements per step", ylabel="drift over nominal drift"
        )
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks(line["passes"].tolist(), [str(passes) for passes in line["passes"]])
        axes.grid(True)
        axes.legend(fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return Plot(
        name="noise",
        figure=figure,
        title="Drift from sampling the group",
        source="beyond the paper",
        alt="The drift of sampled augmentation relative to nominal training falls with the number of random "
        "elements per step, on the line of the theory.",
        caption="Line: one over the root of steps times passes. Over short trainings drift is a random walk, "
        "whatever the stability of E.",
    )
