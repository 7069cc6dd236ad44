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
        "quick": Preset(
            FewPoints(samples=4, sigmas=(0.0, 0.01, 0.1), records=120),
            "half a minute",
            ("The paper's labels are exact here; further levels of label noise are added.",),
        ),
        "paper": Preset(
            FewPoints(),
            "a minute",
            (
                "The distribution of the inputs is not stated: uniform in [-1, 1]².",
                "Learning rate and number of epochs are not stated (“increased”): 0.01 and 10000, full-batch "
                "descent on the mean squared error.",
                "The initial weights are not stated: standard normal. The number of samples drawn is ours.",
            ),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
