"""The asymmetry of a linear model trained on symmetric data falls exponentially (Fig. 1a)."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.linear import OPEN_SETTINGS, PAPER
from symscope_papers.linear.decay.claims import judge_claims
from symscope_papers.linear.decay.config import Decay
from symscope_papers.linear.decay.figures import draw_plots
from symscope_papers.linear.decay.measure import cells, measure_cell

decay = Experiment(
    id="linear/decay",
    paper=PAPER,
    figure="Fig. 1a",
    shows="A linear model trained on symmetric data becomes invariant, exponentially fast, at a rate "
    "known beforehand.",
    config=Decay,
    presets={
        "quick": Preset(Decay(points=50, runs=5, records=100), "ten seconds"),
        "paper": Preset(Decay(), "half a minute", OPEN_SETTINGS),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
