"""Does augmented training approach E from an ordinary start, and at what cost?"""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.dynamics import PAPER
from symscope_papers.dynamics.ordinary.claims import judge_claims
from symscope_papers.dynamics.ordinary.config import Ordinary
from symscope_papers.dynamics.ordinary.figures import draw_plots
from symscope_papers.dynamics.ordinary.measure import cells, measure_cell

OURS = (
    "Starts, steps and learning rates are ours: the paper trains from E only.",
    "Layers start as Gaussians that keep the size of signals; EQUIVARIANT from their projection on E.",
)

ordinary = Experiment(
    id="dynamics/ordinary",
    paper=PAPER,
    figure="Sec. 1, 6",
    shows="From a start that is not equivariant, augmented training makes the network's function more "
    "equivariant, and hardly its layers.",
    config=Ordinary,
    presets={
        "quick": Preset(
            Ordinary(sizes="small", samples=80, runs=2, steps=200, mnist="sample"),
            "20 s of one core",
            ("Networks of the same make with few channels on small images and graphs.", *OURS),
        ),
        "paper": Preset(
            Ordinary(),
            "18 minutes on an H200, 9 with two workers",
            ("The first 1,000 samples of each task.", *OURS),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
