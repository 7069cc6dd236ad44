"""Lazy training of a small network on symmetric data: does it become invariant? (App. H: it does not.)"""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.linear import PAPER
from symscope_papers.linear.lazy.claims import judge_claims
from symscope_papers.linear.lazy.config import Lazy
from symscope_papers.linear.lazy.figures import draw_plots
from symscope_papers.linear.lazy.measure import cells, measure_cell

lazy = Experiment(
    id="linear/lazy",
    paper=PAPER,
    figure="App. H",
    shows="Scaling a network into the lazy regime does not make it learn the symmetry of its data.",
    config=Lazy,
    presets={
        "quick": Preset(Lazy(orbits=100, networks=3, steps=2000), "a minute"),
        "paper": Preset(
            Lazy(),
            "20 minutes in one process",
            (
                "The paper states no setting of these attempts. Network and inputs are those of Table 1 and "
                "Fig. 5: one hidden layer of 100 units, [0, 1]³, S_3; ReLU and PyTorch's initialisation.",
                "Target, number of orbits, scales alpha, learning rate and steps are chosen here.",
            ),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
    version=2,
)
