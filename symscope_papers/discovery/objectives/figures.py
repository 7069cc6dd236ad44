"""Figure of `discovery/objectives`: the size of every condition."""

from __future__ import annotations

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.discovery.objectives.config import Objectives


def draw_plots(config: Objectives, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    table = tables["defects"]
    names = table["what"].unique().tolist()
    figure = new_figure(7.4, 3.6)
    with style():
        axes = figure.subplots()
        kinds = (("bracket", "bracket condition"), ("eq7", "Eq. 7"), ("integrated", "integrated axiom"))
        for shift, (colour, (column, label)) in enumerate(zip(COLOURS, kinds, strict=False)):
            for place, name in enumerate(names):
                values = table[table["what"] == name][column].clip(lower=1e-17)
                spots = [place + 0.22 * (shift - 1)] * len(values)
                axes.semilogy(
                    spots, values, "o", color=colour, alpha=0.35, label=label if place == 0 else None
                )
        axes.set_xticks(range(len(names)), [f"a = {name}" for name in names])
        axes.set(ylabel="defect over second-order term", xlim=(-0.5, len(names) - 0.5))
        axes.grid(True, axis="y")
        axes.legend(fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return [
        Plot(
            name="defects",
            figure=figure,
            title="Which condition do true actions meet?",
            source="App. A.2",
            alt="Dots of the sizes of three conditions on two true actions and a map that is no left action: "
            "the bracket condition and the integrated axiom are zero to rounding on true actions, Eq. 7 is "
            "not.",
            caption="One dot for each pair of random generators. A condition for actions must be zero on the "
            "first two and not on the third.",
        )
    ]
