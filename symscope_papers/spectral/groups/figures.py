"""Figures of the group experiment: exact against dense, and each irrep's share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from symscope.report import COLOURS, FAINT, INK, WRONG, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.spectral.groups.config import Groups
from symscope_papers.spectral.groups.problems import case_title

TRIVIAL, MARK = FAINT, INK


def draw_plots(config: Groups, tables: RunTables) -> list[Plot]:
    """Both figures."""
    titles = {case: case_title(case) for case in config.cases}
    return [
        agreement_plot(titles, tables["errors"], tables["cases"]),
        share_plot(titles, tables["irreps"], tables["cases"]),
    ]


def agreement_plot(titles: Mapping[str, str], errors: pd.DataFrame, cases: pd.DataFrame) -> Plot:
    """Errors of the exact group form against those of dense regression, a panel for each case."""
    figure, panels = _grid(len(titles), 2.5)
    groups = dict(zip(cases["case"], cases["group"], strict=True))
    with style():
        for axes, (case, title) in zip(panels, titles.items(), strict=False):
            part = errors[errors["case"] == case]
            low, high = float(part["dense_error"].min()), float(part["dense_error"].max())
            margin = 0.08 * max(high - low, 0.2)
            span = (low - margin, high + margin)
            axes.plot(span, span, color=TRIVIAL, linewidth=1)
            for colour, (kind, some) in zip(
                COLOURS[:3][::-1], list(part.groupby("missing", sort=False))[::-1], strict=False
            ):
                axes.plot(
                    some["dense_error"],
                    some["error"],
                    "o",
                    color=colour,
                    fillstyle="none",
                    markersize=4,
                    label=kind,
                )
            axes.set_title(f"{groups[case]}: {title}".replace(", ", ",\n", 1), fontsize=9)
            axes.annotate(
                f"largest difference\n{part['difference'].max():.0e}",
                (0.97, 0.04),
                xycoords="axes fraction",
                ha="right",
                va="bottom",
                fontsize=8,
            )
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=3, fontsize=9, title="left out")
        figure.supxlabel("error by dense regression", fontsize=10)
        figure.supylabel("error by the exact group form", fontsize=10)
    return Plot(
        name="agreement",
        figure=figure,
        title="The group form is exact",
        source="beyond the paper",
        alt="A panel for each group and network: errors of the group form against errors of dense "
        "regression, all on the diagonal.",
        caption="Every missing point of every missing set; above 1 predictions are wrong.",
    )


def share_plot(titles: Mapping[str, str], irreps: pd.DataFrame, cases: pd.DataFrame) -> Plot:
    """Shares of the stiffness, red where they are below what an even kernel would give."""
    shown = {
        case: title for case, title in titles.items() if not irreps[irreps["case"] == case]["unseen"].any()
    }
    figure, panels = _grid(len(shown), 3.1)
    summary = cases.set_index("case")
    with style():
        for axes, (case, title) in zip(panels, shown.items(), strict=False):
            part = irreps[irreps["case"] == case]
            colours = [
                TRIVIAL if one else WRONG if limits else COLOURS[0]
                for one, limits in zip(part["trivial"], part["limits"], strict=True)
            ]
            places = range(len(part))
            axes.bar(places, part["share"], color=colours, width=0.75)
            axes.scatter(
                places, part["weight"], marker="_", s=60 if len(part) < 12 else 20, color=MARK, zorder=3
            )
            step = -(-len(part) // 14)
            axes.set_xticks(
                list(places)[::step], part["label"].tolist()[::step], rotation=60, ha="right", fontsize=7.5
            )
            row = summary.loc[case]
            axes.set_title(
                f"{row['group']}: {title}".replace(", ", ",\n", 1)
                + f"\nerror {row['mean_error']:.2f}, {100 * row['accuracy']:.0f} % right",
                fontsize=9,
            )
        figure.supylabel("share of a missing point's stiffness", fontsize=10)
        _share_legend(figure)
    return Plot(
        name="shares",
        figure=figure,
        title="Which irreps hold generalisation back",
        source="beyond the paper",
        alt="Bars of each irrep's share of a missing point's stiffness for every group and network that is "
        "not invariant, with marks for an even kernel; irreps below their mark are red.",
        caption="An irrep below its mark is one on which the kernel makes bumps cheaply, so the missing "
        "point is free to go wrong there. Frequencies of shifts are pairs (down, right), irreps of S_n are "
        "partitions.",
    )


def _share_legend(figure: Any) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Patch(color=WRONG, label="holds it back"),
        Patch(color=COLOURS[0], label="helps"),
        Patch(color=TRIVIAL, label="trivial: the labels' own"),
        Line2D([], [], color=MARK, marker="_", linestyle="", markersize=9, label="with an even kernel"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=9)


def _grid(count: int, height: float) -> tuple[Any, list[Any]]:
    """A figure with panels in rows of up to four, what is left over hidden."""
    columns = min(4, max(count, 1))
    rows = -(-max(count, 1) // columns)
    figure = new_figure(2.45 * columns, height * rows + 0.7)
    with style():
        panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes in panels[count:]:
        axes.set_axis_off()
    return figure, panels
