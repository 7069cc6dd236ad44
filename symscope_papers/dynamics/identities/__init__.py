"""Lemmas 1-7, Propositions 1-3 and Corollaries 1-2 on random networks of many groups."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.dynamics import PAPER
from symscope_papers.dynamics.identities.claims import judge_claims
from symscope_papers.dynamics.identities.config import Identities
from symscope_papers.dynamics.identities.figures import draw_plots
from symscope_papers.dynamics.identities.measure import cells, measure_cell

identities = Experiment(
    id="dynamics/identities",
    paper=PAPER,
    figure="Lemmas 1-7, Prop. 1-3, Cor. 1-2",
    shows="What the paper proves about nominal, augmented and equivariant risks holds to rounding.",
    config=Identities,
    presets={
        "quick": Preset(
            Identities(groups=("C6", "D4", "S3", "S4", "C3xC3"), networks=2), "half a minute on two cores"
        ),
        "paper": Preset(Identities(), "a minute on two cores"),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
    version=2,
)
