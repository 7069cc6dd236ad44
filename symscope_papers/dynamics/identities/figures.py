"""Figure of `dynamics/identities`: the error of every statement."""

from __future__ import annotations

from symscope.report import COLOURS, WRONG, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.dynamics.identities.config import ROUNDING, Identities
from symscope_papers.dynamics.identities.statements import IDENTITIES

FLOOR = 1e-18  # where an error of exactly zero is drawn


def draw_plots(config: Identities, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    table = tables["identities"]
    names = list(IDENTITIES)
    families = {"C": "cyclic", "D": "dihedral", "S": "symmetric", "x": "translations"}
    figure = new_figure(7.6, 4.8)
    with style():
        axes = figure.subplots()
        for k, (key, label) in enumerate(families.items()):
            mine = table["group"].map(lambda name: "x" if "x" in name else name[0]) == key
            part = table[mine]
            height = [names.index(name) + 0.18 * (k - 1.5) for name in part["identity"]]
            size = part["error"].clip(lower=FLOOR)
            axes.plot(size, height, "o", markersize=4, color=COLOURS[k], alpha=0.6, label=label)
        axes.axvline(ROUNDING, color=WRONG, linestyle="--", linewidth=1)
        axes.set(xscale="log", xlabel="relative error (exact zeros at the left edge)", xlim=(FLOOR / 3, 1e-8))
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.grid(True, axis="x")
        axes.legend(loc="lower right", fontsize=9, title="groups")
    return [
        Plot(
            name="errors",
            figure=figure,
            title="Every statement, on random networks",
            source="Lemmas 1-7, Prop. 1-3, Cor. 1-2",
            alt="Dot plot of the relative error of each lemma, proposition and corollary for every random "
            f"network; the largest is {table['error'].max():.1g}, left of the dashed line at 1e-10.",
            caption="One dot per random network. Left of the dashed line a statement holds to 1e-10; float64 "
            "rounding is about 1e-16.",
        )
    ]
