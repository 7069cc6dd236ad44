"""Figure of `linear/equations`: ranks of X^T X and K_G against the number of samples."""

from __future__ import annotations

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.linear.equations.config import GROUPS, Equations


def draw_plots(config: Equations, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    ranks = tables["ranks"].groupby(["group", "samples"]).mean(numeric_only=True)
    figure = new_figure(10.4, 3.4)
    with style():
        panels = figure.subplots(1, len(GROUPS), sharey=True)
        for axes, group in zip(panels, GROUPS, strict=True):
            part = ranks.loc[group]
            axes.plot(part.index, part["rank"], "o--", color=COLOURS[1], label="X^T X")
            axes.plot(part.index, part["group_rank"], "s-", color=COLOURS[0], label="K_G")
            axes.set(title=group, xlabel="samples")
            axes.grid(True)
        panels[0].set_ylabel("rank")
        panels[0].legend(fontsize=9)
    return [
        Plot(
            name="ranks",
            figure=figure,
            title="One sample of an orbit may span the space",
            source="Sec. 3",
            alt="Rank against the number of samples, a panel per group: the rank of X^T X is the number of "
            "samples, that of K_G is full from one or two samples on.",
            caption="Random samples, one of each orbit. K_G is definite where the images of the samples "
            "under the group span the space.",
        )
    ]
