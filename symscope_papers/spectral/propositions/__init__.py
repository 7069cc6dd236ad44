"""Propositions 1 to 4: kernel matrices of convolutional networks over shifts and quarter turns."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.propositions.claims import judge_claims
from symscope_papers.spectral.propositions.config import Propositions
from symscope_papers.spectral.propositions.figures import draw_plots
from symscope_papers.spectral.propositions.measure import cells, measure_cell

propositions = Experiment(
    id="spectral/propositions",
    paper=PAPER,
    figure="Prop. 1-4, App. C",
    shows="Kernels of convolutional networks are circulant over shifts and rotations; only global pooling "
    "over shifts makes them constant.",
    config=Propositions,
    presets={
        "quick": Preset(Propositions(digits=10, filters=(3, 5), shifts=14), "20 s on two cores"),
        "paper": Preset(Propositions(), "a minute on a GPU"),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
