"""The exact form beyond cyclic groups: dihedral groups, products, symmetric groups, and their irreps."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.groups.claims import judge_claims
from symscope_papers.spectral.groups.config import Groups
from symscope_papers.spectral.groups.figures import draw_plots
from symscope_papers.spectral.groups.measure import cells, measure_cell

groups = Experiment(
    id="spectral/groups",
    paper=PAPER,
    figure="beyond the paper",
    shows="The exact form holds for dihedral groups, products and symmetric groups, and names the irreps "
    "that hold a network back.",
    config=Groups,
    presets={
        "quick": Preset(Groups(seeds=3, side=14, shifts=(7, 7), nodes=5, points=5), "20 s on two cores"),
        "paper": Preset(Groups(), "a few minutes on a GPU"),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
