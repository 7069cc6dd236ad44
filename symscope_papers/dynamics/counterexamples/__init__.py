"""App. B: a minimum of the augmented risk that is none of R, and one of the equivariant risk only."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.dynamics import PAPER
from symscope_papers.dynamics.counterexamples.claims import judge_claims
from symscope_papers.dynamics.counterexamples.config import Counterexamples
from symscope_papers.dynamics.counterexamples.figures import draw_plots
from symscope_papers.dynamics.counterexamples.measure import cells, measure_cell

counterexamples = Experiment(
    id="dynamics/counterexamples",
    paper=PAPER,
    figure="App. B",
    shows="The converses of Proposition 3 fail, on the paper's examples and on two from practice.",
    config=Counterexamples,
    presets={
        "quick": Preset(Counterexamples(sizes=(3, 4, 5), steps=21), "a few seconds"),
        "paper": Preset(Counterexamples(), "half a minute"),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
