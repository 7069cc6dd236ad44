"""Figure of `linear/few-points`: the asymmetry loss of every sample of points."""

from __future__ import annotations

from symscope.report import COLOURS, FAINT, new_figure, style
from symscope.runs import Plot, RunTables
from symscope_papers.linear.few_points.config import FewPoints
from symscope_papers.linear.training import dress_asymmetry


def draw_plots(config: FewPoints, tables: RunTables) -> list[Plot]:
    """The figures of a run."""
    paths = tables["paths"]
    figure = new_figure(3.2 * len(config.sigmas) + 0.4, 3.8)
    with style():
        panels = figure.subplots(1, len(config.sigmas), sharey=True, squeeze=False)[0]
        for axes, sigma in zip(panels, config.sigmas, strict=True):
            for i, (_, part) in enumerate(paths[paths["sigma"] == sigma].groupby("sample")):
                theory = part[part["flow"] > 1e-16]
                shown = part[part["asymmetry"] > 0]
                axes.plot(theory["epoch"], theory["flow"], color=FAINT, linewidth=3.2, alpha=0.6)
                axes.plot(shown["epoch"], shown["asymmetry"], color=COLOURS[i % len(COLOURS)], linewidth=1.4)
            dress_asymmetry(axes, "no noise" if sigma == 0 else f"label noise σ = {sigma:g}")
            axes.set_xlabel("epoch")
            if axes is not panels[0]:
                axes.set_ylabel("")
    return [
        Plot(
            name="few-points",
            figure=figure,
            title=f"Asymmetry loss with {config.points} points",
            source="Fig. 2",
            alt="Panels of the asymmetry loss against epochs on a logarithmic axis, one line per sample "
            "of points. Without noise all fall to rounding, most along straight lines"
            + ("; with noise they level off at a floor that grows with it." if max(config.sigmas) else "."),
            caption="Learning x + y from (x, y), symmetry x ↔ y, orbits not completed; a colour is one "
            "sample of points. Grey bands: the gradient flow of Eq. 1.",
        )
    ]
