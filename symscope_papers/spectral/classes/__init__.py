"""Ten classes, several digits each: the paper's rule, exact regression and trained networks (Fig. 6B, 13)."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.classes.claims import judge_claims
from symscope_papers.spectral.classes.config import Classes
from symscope_papers.spectral.classes.figures import draw_plots
from symscope_papers.spectral.classes.measure import cells, measure_cell

classes_experiment = Experiment(
    id="spectral/classes",
    paper=PAPER,
    figure="Fig. 6B, 13",
    shows="Ten classes: how many angles it takes until left-out upright digits are recognised, by the "
    "paper's rule, by exact kernel regression and by trained networks.",
    config=Classes,
    presets={
        "quick": Preset(
            Classes(
                angles=(4, 8, 16, 32), seeds=3, trials=2, left_out=(1, 3, 5, 7, 9), epochs=100, batch=128
            ),
            "2 min on two cores",
        ),
        "paper": Preset(
            Classes(mnist="fetched", trials=10, compiled=True, together=10), "minutes on a GPU, needs MNIST"
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
