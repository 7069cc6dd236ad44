"""Figures of `spectral/gaps`: error against density for every pattern, and across a gap."""

from __future__ import annotations

import math

import pandas as pd

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.chart_parts import error_line, shared_legend, wrong_line
from symscope_papers.spectral.gaps.claims import method_name
from symscope_papers.spectral.gaps.config import Gaps
from symscope_papers.spectral.gaps.measure import FORMULA
from symscope_papers.spectral.pairs.angles import by_angles
from symscope_papers.spectral.pairs.figures import angle_axis


def draw_plots(config: Gaps, tables: RunTables) -> list[Plot]:
    """Errors against the number of angles, and along the gap at the largest."""
    return [density_plot(tables["errors"]), profile_plot(tables["profile"])]


def density_plot(table: pd.DataFrame) -> Plot:
    """Mean error at upright against n, a panel for each method, a line for each pattern."""
    methods = [by for by in table["by"].unique().tolist() if by != FORMULA]
    figure = new_figure(max(5.0, 3.4 * len(methods)), 3.6)
    with style():
        panels = figure.subplots(1, len(methods), sharey=True, squeeze=False)[0]
        for axes, by in zip(panels, methods, strict=True):
            mine = table[table["by"] == by]
            for colour, (name, part) in zip(COLOURS, mine.groupby("pattern", sort=False), strict=False):
                parts = by_angles(part)
                means = [own["upright"].mean() for own in parts.values()]
                errors = [own["upright"].std() / math.sqrt(len(own)) for own in parts.values()]
                error_line(axes, list(parts), means, errors, "o-", colour, str(name))
            wrong_line(axes)
            angle_axis(axes, mine["angles"].unique().tolist())
            axes.set_title(method_name(by), fontsize=10)
        panels[0].set_ylabel("mean error at the upright image")
        shared_legend(figure, panels[:1])
    return Plot(
        name="density",
        figure=figure,
        title="Error against density, for one missing angle and for gaps",
        source="beyond the paper",
        alt="Line charts, one for each method, of the mean error at the upright image against the "
        "number of angles; "
        "with one angle missing it falls to zero, in the middle of a gap it hardly falls.",
        caption="The ends of a gap are seen, so that the nearest image stays as far away however dense "
        "the orbit is. "
        "Scattered: as many angles as the widest gap, at random. Bars are standard errors over pairs.",
    )


def profile_plot(profile: pd.DataFrame) -> Plot:
    """Mean error against the angle inside each gap, at the largest number of angles."""
    last = profile[(profile["angles"] == profile["angles"].max()) & profile["pattern"].str.startswith("gap")]
    methods = [by for by in last["by"].unique().tolist() if by != FORMULA]
    figure = new_figure(9.0, 4.4)
    with style():
        axes = figure.subplots()
        for colour, by in zip(COLOURS, methods, strict=False):
            for line, (name, part) in zip(
                ("o-", "s--", "^:"), last[last["by"] == by].groupby("pattern", sort=False), strict=False
            ):
                part = part.sort_values("degrees")
                axes.plot(
                    part["degrees"], part["error"], line, color=colour, label=f"{method_name(by)}, {name}"
                )
        wrong_line(axes)
        axes.set(xlabel="degrees from upright", ylabel="mean error")
        axes.grid(True)
        shared_legend(figure, [axes], columns=len(methods), fontsize=8.5)
    return Plot(
        name="profile",
        figure=figure,
        title=f"Errors across a gap, {int(profile['angles'].max())} angles",
        source="beyond the paper",
        alt="Line chart of the mean error against the angle inside gaps: small at the ends, largest in "
        "the middle.",
        caption="Mean over pairs and over which orbit has the gap.",
    )
