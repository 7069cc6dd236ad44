"""Does augmented training leave E? The spectrum of Hess R_aug on E_perp along training, against drift."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.dynamics import PAPER
from symscope_papers.dynamics.stability.claims import judge_claims
from symscope_papers.dynamics.stability.config import Stability
from symscope_papers.dynamics.stability.figures import draw_plots
from symscope_papers.dynamics.stability.measure import cells, measure_cell

stability_along_training = Experiment(
    id="dynamics/stability",
    paper=PAPER,
    figure="Sec. 4.2, 5.1, 6",
    shows="The spectrum of the augmented Hessian outside E predicts whether and how fast training leaves E.",
    config=Stability,
    presets={
        "quick": Preset(
            Stability(
                groups=("C6", "D4", "S3", "C3xC3"), seeds=2, horizon=20.0, moments=7, repeats=6, steps=25
            ),
            "a minute on two cores",
        ),
        "paper": Preset(Stability(), "four minutes on two cores"),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
    version=2,
)
