"""Figure of `linear/shear`: drift of two runs, and coupling against shear."""

from __future__ import annotations

from symscope.report import COLOURS, INK, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.linear.shear.config import Shear

KINDS = ("reflection", "translations")
NAMES = {"reflection": "reflection about c, {x → 2c − x}", "translations": "translations {x → x + k c}"}


def draw_plots(config: Shear, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    paths, groups = tables["paths"], tables["groups"]
    figure = new_figure(9.4, 4.0)
    with style():
        left, right = figure.subplots(1, 2)
        reflections = paths[paths["kind"] == "reflection"]
        for i, (shear, part) in enumerate(reflections.groupby("shear")):
            colour = INK if shear == 0 else COLOURS[(i - 1) % len(COLOURS)]
            left.plot(part["epoch"], part["drift"], color=colour, label=f"c = {shear:g}")
        left.set(
            title="two runs, same asymmetric start",
            xlabel="epoch",
            ylabel="distance of their asymmetric weights",
        )
        left.grid(True)
        left.legend(fontsize=9, title="reflection about c")
        for colour, marker, kind in zip(COLOURS, "os", KINDS, strict=False):
            part = groups[groups["kind"] == kind].sort_values("shear")
            right.plot(part["shear"], 100 * part["coupling"], f"{marker}-", color=colour, label=NAMES[kind])
        right.set(title="coupling of the two parts", xlabel="shear c", ylabel="% of the fastest rate")
        right.set_ylim(bottom=0)
        right.grid(True)
        right.legend(fontsize=9)
    return [
        Plot(
            name="shear",
            figure=figure,
            title="Where the transpose of an element is not in the group",
            source="App. A",
            alt="Left: distance between the asymmetric weights of two runs against epochs: zero for the "
            "reflection about the origin, a bump for every other. Right: coupling of the two parts "
            "against the shear, for reflections and for translations.",
            caption="Features (1, x). A reflection about the origin has its transpose in the group, "
            "about any other point it has not. Left: the runs differ only in their symmetric start, yet "
            "their asymmetric weights part.",
        )
    ]
