"""Null spaces against theory: how many linear symmetries there are, which, and whether they hold held-out."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.discovery import PAPER
from symscope_papers.discovery.exact.claims import judge_claims
from symscope_papers.discovery.exact.config import LARGE, SMALL, Exact
from symscope_papers.discovery.exact.figures import draw_plots
from symscope_papers.discovery.exact.measure import cells, measure_cell

exact = Experiment(
    id="discovery/exact",
    paper=PAPER,
    figure="Sec. 1, 2, 5.4, beyond",
    shows="Null spaces give all linear symmetries of small networks, with the dimensions of theory.",
    config=Exact,
    presets={
        "quick": Preset(Exact(), "40 s of one core"),
        "paper": Preset(
            Exact((*SMALL, *LARGE), (0, 1, 2, 3, 4), points=32, wide="ReLU 20-50-40-10"),
            "5 min on two cores",
            ("The paper has no exact search; networks and sizes are ours.",),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
