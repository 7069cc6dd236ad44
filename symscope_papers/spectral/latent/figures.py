"""Figures of `spectral/latent`: objects about every axis, their errors, the group form."""

from __future__ import annotations

from typing import Any

import pandas as pd

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.chart_parts import doubling_axis, error_line, shared_legend, wrong_line
from symscope_papers.spectral.latent.claims import METHODS, axis_name, by_tilt, mean_and_error
from symscope_papers.spectral.latent.config import Latent
from symscope_papers.spectral.latent.measure import WIDE
from symscope_papers.spectral.latent.objects import KINDS

BEYOND = "beyond the paper"


def draw_plots(config: Latent, tables: RunTables) -> list[Plot]:
    """Objects about every axis, and the errors."""
    kernels = tables["kernels"]
    plain = kernels[(kernels["varied"] == "objects") & (kernels["by"] != "averaged")]
    return [
        views_plot(tables["views"]),
        objects_plot(tables["errors"], (*WIDE, *config.networks)),
        group_form_plot(plain),
        step_plot(kernels[kernels["varied"] == "poses"]),
    ]


def views_plot(views: pd.DataFrame) -> Plot:
    """The first object of each kind along its orbit about every axis."""
    kinds = views["kind"].unique().tolist()
    rows = [(kind, *one) for kind in kinds for one in by_tilt(views[views["kind"] == kind]).items()]
    poses, side = (int(views[name].max()) + 1 for name in ("pose", "row"))
    figure = new_figure(1.1 * poses + 1.6, 1.15 * len(rows) + 0.3)
    with style():
        panels = figure.subplots(len(rows), 1, squeeze=False)[:, 0]
        for axes, (kind, tilt, part) in zip(panels, rows, strict=True):
            pixels = part.sort_values(["row", "pose", "column"])["value"].to_numpy()
            axes.imshow(pixels.reshape(side, poses * side), cmap="gray")
            axes.set(xticks=[], yticks=[])
            words = f"{KINDS[kind]},\n{axis_name(tilt)}"
            axes.set_ylabel(words, rotation=0, ha="right", va="center", fontsize=9)
        degrees = [f"{pose * 360 // poses}°" for pose in range(poses)]
        panels[-1].set_xticks([side * (pose + 0.5) for pose in range(poses)], degrees)
    return Plot(
        name="views",
        figure=figure,
        title="One object of each kind, turned about every axis",
        source=BEYOND,
        alt="Rows of small grey images: a set of glowing points and a lit surface, turned in the image plane "
        "and about other axes.",
        caption="The camera looks along the axis of the first row of each kind. In the other rows no "
        "operation on one image gives the next.",
    )


def objects_plot(table: pd.DataFrame, methods: tuple[str, ...]) -> Plot:
    """Mean error against the number of objects, a panel for each kind and method, a line for each axis."""
    kinds = table["kind"].unique().tolist()
    figure = new_figure(2.3 * len(methods) + 0.8, 2.5 * len(kinds) + 0.5)
    with style():
        panels = figure.subplots(len(kinds), len(methods), sharex=True, sharey=True, squeeze=False)
        for place, (line, kind) in enumerate(zip(panels, kinds, strict=True)):
            for axes, by in zip(line, methods, strict=True):
                _error_lines(axes, table[(table["kind"] == kind) & (table["by"] == by)])
                if place == 0:
                    axes.set_title(METHODS[by].replace(", ", ",\n"), fontsize=9.5)
                axes.set_xlabel("")
            line[0].set_ylabel(f"{KINDS[kind]}:\nerror at the unseen pose")
        figure.supxlabel("number of objects", fontsize=10)
        shared_legend(figure, panels[0, :1])
    return Plot(
        name="objects",
        figure=figure,
        title="Error at a pose one class was never seen in",
        source=BEYOND,
        alt="Line charts, one for each kind of object and method, of the mean error at the unseen pose "
        "against the number of objects, a line for each axis.",
        caption="One class lacks one pose; everything else is seen. Above 1 predictions are wrong. Bars are "
        "standard errors over sets of objects.",
    )


def _error_lines(axes: Any, part: pd.DataFrame) -> None:
    for colour, (tilt, own) in zip(COLOURS, by_tilt(part).items(), strict=False):
        values = sorted(own["objects"].unique().tolist())
        means, errors = _means_and_errors(own, "objects")
        error_line(axes, values, means, errors, "o-", colour, axis_name(tilt))
        doubling_axis(axes, values, "number of objects")
    wrong_line(axes)
    axes.grid(True)


def _means_and_errors(part: pd.DataFrame, along: str) -> tuple[list[float], list[float]]:
    """Mean errors and their standard errors for each value of a column, ascending."""
    values = sorted(part[along].unique().tolist())
    pairs = [mean_and_error(part[part[along] == value]["error"]) for value in values]
    return [mean for mean, _ in pairs], [error for _, error in pairs]


def group_form_plot(table: pd.DataFrame) -> Plot:
    """Dense error against that of the group form, a panel for each kind."""
    kinds = table["kind"].unique().tolist()
    figure = new_figure(3.6 * len(kinds) + 0.6, 3.9)
    with style():
        panels = figure.subplots(1, len(kinds), sharex=True, sharey=True, squeeze=False)[0]
        for axes, kind in zip(panels, kinds, strict=True):
            mine = table[table["kind"] == kind]
            for colour, (tilt, own) in zip(COLOURS, by_tilt(mine).items(), strict=False):
                axes.scatter(own["group_form"], own["error"], s=12, color=colour, label=axis_name(tilt))
            top = float(table[["group_form", "error"]].max().max())
            axes.plot([0, top], [0, top], color="0.5", linewidth=1)
            axes.set_title(KINDS[kind], fontsize=10)
            axes.set_xlabel("error by the group form")
            axes.grid(True)
        panels[0].set_ylabel("error of dense regression")
        shared_legend(figure, panels[:1])
    return Plot(
        name="group-form",
        figure=figure,
        title="The group form is exact for turns of the image, and only for these",
        source=BEYOND,
        alt="Scatter charts of the dense error against that of the group form: on the diagonal for turns of "
        "the image, mostly above it about a tilted axis.",
        caption="One dot for each set of objects, number of objects and wide network (MLP, ConvNet).",
    )


def step_plot(table: pd.DataFrame) -> Plot:
    """Mean error against the distance between neighbouring images, as the number of poses grows."""
    kinds = table["kind"].unique().tolist()
    figure = new_figure(3.6 * len(kinds) + 0.6, 3.6)
    with style():
        panels = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
        for axes, kind in zip(panels, kinds, strict=True):
            mine = table[(table["kind"] == kind) & (table["by"] == "wide-mlp")]
            for colour, (tilt, own) in zip(COLOURS, by_tilt(mine).items(), strict=False):
                means, errors = _means_and_errors(own, "poses")
                steps = own.groupby("poses")["step"].mean()
                error_line(axes, steps, means, errors, "o-", colour, axis_name(tilt))
            wrong_line(axes)
            axes.set_title(KINDS[kind], fontsize=10)
            axes.set_xlabel("distance to the next pose's image")
            axes.grid(True)
        panels[0].set_ylabel("error at the unseen pose")
        shared_legend(figure, panels[:1])
    first = table.iloc[0]
    counts = ", ".join(str(count) for count in sorted(table["poses"].unique().tolist()))
    return Plot(
        name="steps",
        figure=figure,
        title="Error against how far the nearest seen image is",
        source=BEYOND,
        alt="Line charts of the error of the wide MLP against the distance between images at neighbouring "
        "poses, a line for each axis; errors fall as images come nearer.",
        caption=f"Wide MLP, {first['objects']} objects, {counts} poses from right to left. Distances are in "
        "units of an image's norm. Bars are standard errors over sets of objects.",
    )
