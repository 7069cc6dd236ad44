"""Symmetries of parts carried to whole networks: Prop. 4.1, Cor. 4.2 and 4.3, Prop. 4.4, tested held-out."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.discovery import PAPER
from symscope_papers.discovery.induced.claims import judge_claims
from symscope_papers.discovery.induced.config import Induced
from symscope_papers.discovery.induced.figures import draw_plots
from symscope_papers.discovery.induced.measure import cells, measure_cell

carried = Experiment(
    id="discovery/induced",
    paper=PAPER,
    figure="Sec. 4, Fig. 1",
    shows="Symmetries of small networks hold in wider and deeper ones and for smaller batches.",
    config=Induced,
    presets={
        "quick": Preset(Induced(), "40 s of one core"),
        "paper": Preset(
            Induced(wide=(3, 5, 10, 20), depths=(3, 4, 6, 8), batch=6, seeds=(0, 1, 2, 3, 4), points=30),
            "40 s on two cores",
            ("Sec. 4 is proofs; the networks they are tried on and their sizes are ours.",),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
