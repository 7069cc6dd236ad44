"""Figures of `spectral/seeds`, in the paper's layout."""

from __future__ import annotations

import pandas as pd

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.chart_parts import wrong_line
from symscope_papers.spectral.pairs.angles import by_angles
from symscope_papers.spectral.pairs.figures import angle_axis, angle_scatter
from symscope_papers.spectral.seeds.config import Seeds

NAMES = {"spectral": "spectral error, mean over pairs", "projected": "group-projected error of the whole set"}


def draw_plots(config: Seeds, tables: RunTables) -> list[Plot]:
    """Both theories against regression, and all three against the number of angles."""
    table = tables["trials"][tables["trials"]["kernel"] == "NTK"]
    made = []
    for column, name in NAMES.items():
        figure, rs = angle_scatter(table, column, "exact", (name, "exact error over the whole set"))
        made.append(
            Plot(
                name=column,
                figure=figure,
                title=f"{name.capitalize()}, against regression",
                source="Fig. 6A, 12" if column == "spectral" else "beyond the paper",
                alt=f"Scatter plots, one for each number of angles, of the {name} against the exact error "
                f"over data sets of two classes with {config.seeds} digits each ({rs}).",
                caption=f"Each dot is one of {config.trials} data sets: {config.seeds} digits of each of two "
                "random classes, upright images of one class missing, averaged over which class.",
            )
        )
    return [*made, sweep_plot(config, table)]


def sweep_plot(config: Seeds, table: pd.DataFrame) -> Plot:
    """Mean error and its spread over data sets, against n."""
    figure = new_figure(6.4, 3.9)
    marks = {"exact": ("regression", "o-"), "spectral": ("spectral, mean over pairs", "s--")}
    marks["projected"] = ("group-projected", "^:")
    with style():
        axes = figure.subplots()
        # side by side, so that no bar hides another
        for shift, colour, (column, (name, line)) in zip(
            (1, 0.94, 1.06), COLOURS, marks.items(), strict=False
        ):
            means = {n: part[column].mean() for n, part in by_angles(table).items()}
            spread = [part[column].std() for part in by_angles(table).values()]
            axes.errorbar(
                [shift * n for n in means],
                list(means.values()),
                spread,
                fmt=line,
                color=colour,
                label=name,
                capsize=3,
            )
        angle_axis(axes, table["angles"].unique().tolist())
        wrong_line(axes, "wrong above")
        axes.set_ylabel("error on the missing images")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=9)
    last = max(table["angles"])
    return Plot(
        name="sweep",
        figure=figure,
        title="Mean error against the number of angles",
        source="Fig. 12",
        alt="Line chart of the mean error over data sets against the number of angles, for regression, the "
        "spectral error and the group form; all fall as angles are added.",
        caption=f"Mean and standard deviation over {config.trials} data sets; at n = {last} the exact error "
        f"is {table[table['angles'] == last]['exact'].mean():.2g}.",
    )
