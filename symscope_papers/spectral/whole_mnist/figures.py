"""Accuracy against the number of angles for more and more digits, digit by digit; which frequencies count."""

from __future__ import annotations

import pandas as pd

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.chart_parts import accuracy_axes, error_line
from symscope_papers.spectral.whole_mnist.claims import run_accuracy
from symscope_papers.spectral.whole_mnist.config import WholeMnist

MARKS = ("o-", "s--", "^-.", "d:", "v-", "x--")


def draw_plots(config: WholeMnist, tables: RunTables) -> list[Plot]:
    """The three figures."""
    accuracy = tables["accuracy"]
    largest = accuracy[accuracy["points"] == accuracy["points"].max()]
    where = tables["irreps"]
    same = (where["seeds"] == largest["seeds"].iloc[0]) & (where["angles"] == largest["angles"].iloc[0])
    return [angle_plot(accuracy), digit_plot(largest), frequency_plot(where[same], largest)]


def angle_plot(accuracy: pd.DataFrame) -> Plot:
    """Fig. 6B's curve for several numbers of digits."""
    runs = run_accuracy(accuracy)
    figure = new_figure(7.2, 4.0)
    with style():
        axes = figure.subplots()
        for place, (orbits, own) in enumerate(runs.groupby("orbits", sort=False)):
            line, colour = MARKS[place % len(MARKS)], COLOURS[place % len(COLOURS)]
            error_line(axes, own["angles"], own["mean"], own["error"], line, colour, f"{orbits:,} digits")
        accuracy_axes(axes, sorted(accuracy["angles"].unique().tolist()))
        axes.set_ylabel("accuracy on left-out upright digits")
        axes.legend(fontsize=9, loc="best")
    most = runs.iloc[-1]
    return Plot(
        name="accuracy",
        figure=figure,
        title="Accuracy against the number of angles",
        source="Fig. 6B",
        alt="Line chart of the accuracy of exact kernel regression on left-out upright digits against the "
        f"number of angles, a line for each number of digits; with {most['orbits']:,} digits and "
        f"{most['angles']} angles it is {most['mean']:.4f}.",
        caption=f"Exact kernel regression, up to {int(runs['points'].max()):,} points; mean and standard "
        "error over left-out digits.",
    )


def digit_plot(largest: pd.DataFrame) -> Plot:
    """The largest run, digit by digit."""
    figure = new_figure(7.2, 3.2)
    wrong = 100 * (1 - largest["accuracy"])
    with style():
        axes = figure.subplots()
        bars = axes.bar(largest["left_out"], wrong, color=COLOURS[0], width=0.65)
        axes.bar_label(bars, labels=[f"{value:.2g}" for value in wrong], padding=2, fontsize=9)
        axes.set(xlabel="left-out digit", ylabel="wrong, per cent", xticks=largest["left_out"].tolist())
        axes.set_ylim(0, max(1e-3, 1.15 * float(wrong.max())))
        axes.grid(True, axis="y")
    listed = ", ".join(f"{int(c)}: {value:.2g}" for c, value in zip(largest["left_out"], wrong, strict=True))
    return Plot(
        name="digits",
        figure=figure,
        title=f"Errors digit by digit, {int(largest['points'].iloc[0]):,} points",
        source="beyond the paper",
        alt=f"Bar chart of the share of left-out upright digits predicted wrongly, in per cent: {listed}.",
        caption=f"{int(largest['orbits'].iloc[0]):,} digits under {largest['angles'].iloc[0]} rotations.",
    )


def frequency_plot(shares: pd.DataFrame, largest: pd.DataFrame) -> Plot:
    """Where the stiffness of missing points comes from, against what equal strength would give."""
    figure = new_figure(7.2, 3.4)
    ratio = shares["share"] / shares["weight"]
    with style():
        axes = figure.subplots()
        axes.plot(shares["place"], ratio, "o-", color=COLOURS[0], markersize=5)
        axes.axhline(1, color=COLOURS[1], linestyle="--", linewidth=1.2)
        axes.set(xlabel="frequency on the orbit", ylabel="stiffness / its mean")
        axes.grid(True)
    limits = int(shares["limits"].sum())
    return Plot(
        name="frequencies",
        figure=figure,
        title="What holds a missing point in place",
        source="beyond the paper",
        alt="Line chart of the stiffness of a missing point at each frequency, relative to its mean over "
        f"frequencies, from {ratio.min():.3g} to {ratio.max():.3g}; {limits} of {len(shares)} lie below 1.",
        caption=f"{int(largest['points'].iloc[0]):,} points. A frequency below the dashed line holds "
        "generalisation back: there the kernel is strong, and a bump at the missing point is cheap.",
    )
