"""Label noise does not change how fast the asymmetry decays, only where it ends (Fig. 3)."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.linear import OPEN_SETTINGS, PAPER
from symscope_papers.linear.noise.claims import judge_claims
from symscope_papers.linear.noise.config import Noise
from symscope_papers.linear.noise.figures import draw_plots
from symscope_papers.linear.noise.measure import cells, measure_cell

noise = Experiment(
    id="linear/noise",
    paper=PAPER,
    figure="Fig. 3",
    shows="Noise on the labels does not slow the decay of the asymmetry.",
    config=Noise,
    presets={
        "quick": Preset(Noise(points=50, sigmas=(0.0, 0.1, 0.25, 0.5), records=100), "half a minute"),
        "paper": Preset(
            Noise(),
            "a minute",
            (
                *OPEN_SETTINGS,
                "Only the largest standard deviation, 0.5, is stated; the levels below it are chosen here.",
                "Whether the two samples of an orbit share their noise is not stated: both are run.",
            ),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
