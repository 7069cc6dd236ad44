"""The equations of the paper, taken literally, on random problems: Eq. 1 to 6, K_G, Example F.1."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.linear import PAPER
from symscope_papers.linear.equations.claims import judge_claims
from symscope_papers.linear.equations.config import Equations
from symscope_papers.linear.equations.figures import draw_plots
from symscope_papers.linear.equations.measure import cells, measure_cell

equations = Experiment(
    id="linear/equations",
    paper=PAPER,
    figure="Eq. 1-6, Sec. 3-4, App. B, C, F",
    shows="The closed forms are right; one sample may be enough for a whole space of features.",
    config=Equations,
    presets={
        "quick": Preset(Equations(problems=2), "ten seconds"),
        "paper": Preset(
            Equations(),
            "half a minute",
            ("The paper proves these statements for all problems; groups and random data are chosen here.",),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
