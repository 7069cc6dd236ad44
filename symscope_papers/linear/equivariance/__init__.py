"""Equivariance is learned as invariance is: decay, decoupling, and weights that commute (Fig. 4)."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.linear import OPEN_SETTINGS, PAPER
from symscope_papers.linear.equivariance.claims import judge_claims
from symscope_papers.linear.equivariance.config import Equivariance
from symscope_papers.linear.equivariance.figures import draw_plots
from symscope_papers.linear.equivariance.measure import cells, measure_cell

equivariance = Experiment(
    id="linear/equivariance",
    paper=PAPER,
    figure="Fig. 4",
    shows="A linear map trained on equivariant data comes to commute with the group, exponentially fast.",
    config=Equivariance,
    presets={
        "quick": Preset(Equivariance(points=50, runs=5, epochs=5000, records=100), "ten seconds"),
        "paper": Preset(Equivariance(), "half a minute", OPEN_SETTINGS),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
