"""Figures of `spectral/every-digit`: accuracy while training, and at the end for each left-out digit."""

from __future__ import annotations

import pandas as pd

from symscope.report import new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.chart_parts import shared_legend
from symscope_papers.spectral.networks.claims import FEW, NAMES, whole_groups
from symscope_papers.spectral.networks.config import Networks
from symscope_papers.spectral.networks.figures import KINDS, course_plot


def draw_plots(config: Networks, tables: RunTables) -> list[Plot]:
    """Fig. 1B, and what its means are made of; nothing where no network was trained for every digit."""
    course = whole_groups(tables["course"], config)
    if course.empty:
        return []
    caption = "Mean over left-out digits; bands are standard errors."
    title = f"Accuracy while training, {FEW} angles"
    return [course_plot(course, "epochs", title, "Fig. 1B", caption), digit_plot(course)]


def digit_plot(course: pd.DataFrame) -> Plot:
    """Accuracy at the end of training against the left-out digit, a panel for each network."""
    last = course[course["epoch"] == course["epoch"].max()].sort_values("left_out")
    networks = [network for network in NAMES if (last["network"] == network).any()]
    figure = new_figure(max(5.0, 2.7 * len(networks)), 3.4)
    with style():
        panels = figure.subplots(1, len(networks), sharey=True, squeeze=False)[0]
        for axes, network in zip(panels, networks, strict=True):
            own = last[last["network"] == network]
            for kind, (label, colour, line) in KINDS.items():
                axes.plot(own["left_out"], own[kind], line[0], color=colour, label=label)
            axes.set(title=NAMES[network], xlabel="left-out digit", ylim=(-0.05, 1.05))
            axes.set_xticks(own["left_out"].tolist())
            axes.grid(True)
        panels[0].set_ylabel("accuracy")
        shared_legend(figure, panels[:1])
    ends = "; ".join(
        f"{NAMES[network]} from {own['out-test'].min():.2f} to {own['out-test'].max():.2f}"
        for network, own in ((one, last[last["network"] == one]) for one in networks)
    )
    return Plot(
        name="digits",
        figure=figure,
        title=f"Accuracy for each left-out digit, {FEW} angles",
        source="Fig. 1B",
        alt=f"Dot plots of accuracy against the left-out digit for each network; out-test: {ends}.",
        caption="At the end of training, one network for each digit.",
    )
