"""Twenty points whose orbits are not complete: the symmetry is there only on average (Fig. 2)."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.linear import PAPER
from symscope_papers.linear.few_points.claims import judge_claims
from symscope_papers.linear.few_points.config import FewPoints
from symscope_papers.linear.few_points.figures import draw_plots
from symscope_papers.linear.few_points.measure import cells, measure_cell

few_points = Experiment(
    id="linear/few-points",
    paper=PAPER,
    figure="Fig. 2",
    shows="Few points, and a symmetry they show only on average, still make a model invariant, unless "
    "labels are noisy.",
    config=FewPoints,
    presets={
        "quick": Preset(FewPoints(samples=4, records=120), "half a minute"),
        "paper": Preset(FewPoints(), "a minute or two"),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
