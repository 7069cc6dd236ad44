"""Wide networks: where they start, how close they stay to their linearisation, and their conjugate kernel."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.linear import PAPER
from symscope_papers.linear.wide.claims import judge_claims
from symscope_papers.linear.wide.config import Wide
from symscope_papers.linear.wide.figures import draw_plots
from symscope_papers.linear.wide.measure import cells, measure_cell

wide = Experiment(
    id="linear/wide",
    paper=PAPER,
    figure="Eq. 10, App. F",
    shows="Wide networks do not start at zero; how closely they follow their linearisation.",
    config=Wide,
    presets={
        "quick": Preset(
            Wide(widths=(10, 30, 100), starts=100, networks=3, orbits=5, steps=50), "half a minute"
        ),
        "paper": Preset(
            Wide(),
            "ten minutes on two cores",
            (
                "App. F states no setting. Inputs are those of Table 1 and Fig. 5, [0, 1]³ with "
                "S_3; ReLU, PyTorch's initialisation and He's.",
                "Target, number of orbits, learning rate and steps are chosen here; widths go to the 1000 "
                "that App. F.2 names.",
            ),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
