"""Figure of `linear/equivariance`: asymmetry loss and components of the weights."""

from __future__ import annotations

from typing import Any

from symscope.report import COLOURS, INK, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.linear.equivariance.config import ASYMMETRIC, KINDS, SYMMETRIC, Equivariance
from symscope_papers.linear.training import dress_asymmetry


def draw_plots(config: Equivariance, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    paths = tables["paths"]
    figure = new_figure(11.0, 4.0)
    with style():
        first, *panels = figure.subplots(1, 3)
        for i, (_, part) in enumerate(paths[paths["shared"] == "nothing"].groupby("run")):
            shown = part[part["asymmetry"] > 0]
            first.plot(shown["epoch"], shown["asymmetry"], color=COLOURS[i % len(COLOURS)])
        dress_asymmetry(first, "(a) asymmetry loss")
        first.set_xlabel("epoch")
        for axes, kind, letter in zip(panels, KINDS[1:], "bc", strict=True):
            mine, other = (ASYMMETRIC, SYMMETRIC) if kind == "asymmetric" else (SYMMETRIC, ASYMMETRIC)
            _draw_components(axes, paths[paths["shared"] == kind], mine, other)
            axes.set(title=f"({letter}) same {kind} start", xlabel="epoch", ylabel="component of the weights")
            axes.grid(True)
    return [
        Plot(
            name="equivariance",
            figure=figure,
            title="Learning (y², x²) from (x, y)",
            source="Fig. 4",
            alt="Three panels against epochs. First: the asymmetry loss on a logarithmic axis falls "
            "exponentially, one line per run, all with one slope in the end. Second and third: the "
            "components of the weights that all runs share lie on one dashed line each, while the others "
            "come from different starts.",
            caption="2 × 2 weights have two symmetric and two asymmetric components. Dashed: the two "
            "that all runs share, drawn for every run. Solid and dotted: the two that differ, a colour "
            "per run. In (a) K_G has two eigenvalues; the slower one decides in the end.",
        )
    ]


def _draw_components(axes: Any, paths: Any, mine: tuple[str, ...], other: tuple[str, ...]) -> None:
    early = paths[paths["epoch"] <= paths["epoch"].max() / 4]  # later nothing moves that the eye could see
    for i, (_, run) in enumerate(early.groupby("run")):
        for part, line in zip(other, ("-", ":"), strict=True):
            axes.plot(
                run["epoch"],
                run[part],
                line,
                color=COLOURS[i % len(COLOURS)],
                linewidth=1.4,
                label=part if i == 0 else None,
            )
        for j, part in enumerate(mine):
            name = "shared by all runs" if i == j == 0 else None
            axes.plot(run["epoch"], run[part], "--", color=INK, label=name)
    axes.legend(fontsize=9)
