"""The smallest penalty gamma |A_{E_perp}|^2 that keeps augmented training in E, against the eigenvalue."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.dynamics import PAPER
from symscope_papers.dynamics.penalty.claims import judge_claims
from symscope_papers.dynamics.penalty.config import Penalty
from symscope_papers.dynamics.penalty.figures import draw_plots
from symscope_papers.dynamics.penalty.measure import cells, measure_cell

penalty = Experiment(
    id="dynamics/penalty",
    paper=PAPER,
    figure="Sec. 6",
    shows="A penalty on E_perp keeps augmented training in E; one eigenvalue says how much is enough.",
    config=Penalty,
    presets={
        "quick": Preset(
            Penalty(
                groups=("C6", "D4", "S3", "C3xC3"), seeds=1, multiples=(0.0, 0.5, 1.1, 2.0), bisections=6
            ),
            "a minute and a half on two cores",
        ),
        "paper": Preset(Penalty(), "ten minutes on two cores"),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
    version=2,
)
