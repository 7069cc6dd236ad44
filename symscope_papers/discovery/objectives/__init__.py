"""App. A.2 and A.3: which conditions true actions meet, and what the two forms of the objective cost."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.discovery import PAPER
from symscope_papers.discovery.objectives.claims import judge_claims
from symscope_papers.discovery.objectives.config import Objectives
from symscope_papers.discovery.objectives.figures import draw_plots
from symscope_papers.discovery.objectives.measure import cells, measure_cell

objectives = Experiment(
    id="discovery/objectives",
    paper=PAPER,
    figure="App. A.2, A.3",
    shows="The action axiom as true actions meet it, against Eq. 7; infinitesimal against integrated form.",
    config=Objectives,
    presets={
        "quick": Preset(Objectives(), "half a minute"),
        "paper": Preset(
            Objectives(draws=500, steps=10_000, points=64),
            "80 s on two cores",
            (
                "The paper compares the two forms in words only; the network, 10,000 steps and the rate are "
                "ours.",
            ),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
