"""Fig. 1 in the paper's layout: accuracy while training with 8 angles, and against the number of angles."""

from __future__ import annotations

import pandas as pd

from symscope.report import COLOURS, FAINT, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.chart_parts import accuracy_axes, error_line, shared_legend
from symscope_papers.spectral.networks.claims import FEW, NAMES, SETS, final_accuracy, whole_groups
from symscope_papers.spectral.networks.config import Networks

KINDS = {"train": ("training", COLOURS[2], "^:"), "in-test": ("in-test", COLOURS[0], "o-")}
KINDS["out-test"] = ("out-test (left out)", COLOURS[1], "s-")


def draw_plots(config: Networks, tables: RunTables) -> list[Plot]:
    """Fig. 1B, 1C, and the long trainings, where there are any."""
    course = whole_groups(tables["course"], config)
    figure = course[course["part"] == "figure"]
    shown = FEW if (figure["angles"] == FEW).any() else int(figure["angles"].min())
    plots = [
        course_plot(
            figure[figure["angles"] == shown],
            "epochs",
            f"Accuracy while training, {shown} angles",
            "Fig. 1B",
            "In-test accuracy follows training accuracy; out-test accuracy stays behind. Bands are standard "
            "errors over left-out digits.",
        ),
        angle_plot(course),
    ]
    long = course[course["part"] == "long"]
    if len(long):
        plots.append(
            course_plot(
                long,
                "long",
                f"Very long training, {config.long_angles} angles",
                "Sec. 3.1",
                f"{config.long_epochs} epochs on {config.long_images or 'all'} digits of each class; the "
                "dotted vertical line is where the other trainings stop.",
                mark=config.epochs,
            )
        )
    return plots


def course_plot(
    part: pd.DataFrame, name: str, title: str, source: str, caption: str, mark: int | None = None
) -> Plot:
    """Accuracy against epochs, a panel for each network."""
    networks = [network for network in NAMES if (part["network"] == network).any()]
    figure = new_figure(max(5.0, 2.7 * len(networks)), 3.4)
    with style():
        panels = figure.subplots(1, len(networks), sharey=True, squeeze=False)[0]
        for axes, network in zip(panels, networks, strict=True):
            groups = part[part["network"] == network].groupby("epoch")[list(SETS)]
            means, errors = groups.mean(), groups.sem().fillna(0.0)
            for kind, (label, colour, line) in KINDS.items():
                low, high = means[kind] - errors[kind], means[kind] + errors[kind]
                axes.plot(means.index, means[kind], line[1:], color=colour, label=label)
                axes.fill_between(means.index, low, high, color=colour, alpha=0.2, linewidth=0)
            axes.set(title=NAMES[network], xlabel="epoch", ylim=(-0.05, 1.05))
            axes.grid(True)
            if mark is not None:
                axes.set_xscale("log")
                axes.axvline(mark, color=FAINT, linestyle=":", linewidth=1)
        panels[0].set_ylabel("accuracy")
        shared_legend(figure, panels[:1])
    last = part[part["epoch"] == part["epoch"].max()]
    ends = "; ".join(
        f"{NAMES[network]} in-test {own['in-test'].mean():.2f}, out-test {own['out-test'].mean():.2f}"
        for network, own in ((one, last[last["network"] == one]) for one in networks)
    )
    alt = f"Line charts of accuracy against epochs for each network; at the end {ends}."
    return Plot(name, figure, title, source, alt, caption)


def angle_plot(course: pd.DataFrame) -> Plot:
    """Fig. 1C: accuracy at the end against the number of angles."""
    final = final_accuracy(course)
    networks = [network for network in NAMES if (final["network"] == network).any()]
    figure = new_figure(max(5.0, 2.7 * len(networks)), 3.4)
    with style():
        panels = figure.subplots(1, len(networks), sharey=True, squeeze=False)[0]
        for axes, network in zip(panels, networks, strict=True):
            own = final[final["network"] == network]
            for kind, (label, colour, line) in KINDS.items():
                error_line(axes, own["angles"], own[kind], own[f"{kind} error"], line, colour, label)
            accuracy_axes(axes, sorted(final["angles"].unique().tolist()))
            axes.set_title(NAMES[network])
        panels[0].set_ylabel("accuracy")
        shared_legend(figure, panels[:1])
    ends = "; ".join(
        f"{NAMES[network]} from {own['out-test'].iloc[0]:.2f} to {own['out-test'].iloc[-1]:.2f}"
        for network, own in ((one, final[final["network"] == one]) for one in networks)
    )
    return Plot(
        name="angles",
        figure=figure,
        title="Accuracy against the number of angles",
        source="Fig. 1C",
        alt=f"Line charts of accuracy against the number of angles for each network; out-test: {ends}.",
        caption="At the end of training; mean and standard error over left-out digits.",
    )
