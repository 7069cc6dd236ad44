"""Figure of `discovery/examples`: what is zero and what is not."""

from __future__ import annotations

from symscope.report import COLOURS, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.discovery.examples.config import Examples

SHOWN = {
    ("homogeneous", "rescaled"): "homogeneous, α > 0",
    ("homogeneous", "negative"): "homogeneous, α = -1",
    ("homogeneous", "derivative"): "Prop. A.1",
    ("first order", "slope"): "Theorem 3.1",
    ("radial", "turned"): "radial, orthogonal matrix",
    ("radial", "control"): "radial, rescaled units",
    ("batch norm", "scaled"): "batch norm, training mode",
    ("batch norm", "default eps"): "batch norm, eps = 1e-5",
    ("batch norm", "control"): "batch norm, eval mode",
    ("hidden", "dead unit moved"): "dead ReLU unit moved",
    ("layers apart", "apart"): "W1 and W3 moved",
    ("layers apart", "apart, other data"): "the same, other data",
}


def draw_plots(config: Examples, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    table = tables["examples"]
    figure = new_figure(7.2, 4.4)
    with style():
        axes = figure.subplots()
        for place, (example, what) in enumerate(SHOWN):
            part = table[(table["example"] == example) & (table["what"] == what)]["value"]
            axes.semilogx(part.clip(lower=1e-17), [place] * len(part), "o", color=COLOURS[0], alpha=0.6)
        axes.set_yticks(range(len(SHOWN)), list(SHOWN.values()), fontsize=8)
        axes.set_ylim(len(SHOWN) - 0.4, -0.6)
        axes.set_xlabel("relative change of loss or outputs (1e-17: none)")
        axes.grid(True, axis="x")
    return [
        Plot(
            name="examples",
            figure=figure,
            title="What changes under the symmetries the paper names",
            source="Sec. 2, 3, 5.4",
            alt="Dots of relative changes for every example: symmetries are zero, controls are not.",
            caption="One dot for each case and seed. Controls: α = -1, rescaled radial units, batch "
            "normalisation in eval mode or with eps, another data point.",
        )
    ]
