"""Figure of `dynamics/counterexamples`: risks along a line through each minimum."""

from __future__ import annotations

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.dynamics.counterexamples.config import EXAMPLES, WORDS, Counterexamples


def draw_plots(config: Counterexamples, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    curves = tables["curves"]
    size = config.sizes[min(1, len(config.sizes) - 1)]
    figure = new_figure(9.2, 3.0)
    with style():
        panels = figure.subplots(1, len(EXAMPLES))
        for axes, (name, (_, of, not_of, _)) in zip(panels, EXAMPLES.items(), strict=True):
            part = curves[(curves["example"] == name) & (curves["size"] == size)]
            for risk, colour, line in ((of, COLOURS[2], "-"), (not_of, COLOURS[1], "--")):
                one = part[part["risk"] == risk]
                axes.plot(one["step"], one["change"], line, color=colour, label=WORDS[risk])
            axes.plot([0], [0], "o", color=COLOURS[0], markersize=4)
            axes.set(title=name, xlabel="step")
            axes.legend(fontsize=8, loc="upper center")
            bottom, top = axes.get_ylim()
            axes.set_ylim(bottom, top + 0.45 * (top - bottom))
        panels[0].set_ylabel("change of the risk")
    return [
        Plot(
            name="curves",
            figure=figure,
            title="Minima of one risk that are none of another",
            source="App. B",
            alt="Four panels of risks along their directions of least curvature: in each the first risk "
            "(solid) has a minimum at the dot and the second (dashed) has not.",
            caption="Each risk along its own direction of least curvature from the same equivariant layers "
            f"(dot), size {size}. U and V are the paper's; the other two are least squares on one sample "
            "and two hidden neurons that the group swaps.",
        )
    ]
