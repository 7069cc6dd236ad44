"""The symmetric and the asymmetric weights know nothing of each other (Fig. 1b, 1c)."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.linear import OPEN_SETTINGS, PAPER
from symscope_papers.linear.decoupling.claims import judge_claims
from symscope_papers.linear.decoupling.config import Decoupling
from symscope_papers.linear.decoupling.figures import draw_plots
from symscope_papers.linear.decoupling.measure import cells, measure_cell

decoupling = Experiment(
    id="linear/decoupling",
    paper=PAPER,
    figure="Fig. 1b-c",
    shows="The invariant part of the weights and the rest evolve independently.",
    config=Decoupling,
    presets={
        "quick": Preset(Decoupling(points=50, runs=5), "a few seconds"),
        "paper": Preset(Decoupling(), "a few seconds", OPEN_SETTINGS),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
