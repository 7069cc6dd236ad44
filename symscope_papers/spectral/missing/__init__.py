"""Several points missing at once, in any pattern: the linear system of App. A.1 against regression itself."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.missing.claims import judge_claims
from symscope_papers.spectral.missing.config import Missing
from symscope_papers.spectral.missing.figures import draw_plots
from symscope_papers.spectral.missing.measure import cells, measure_cell

missing_points = Experiment(
    id="spectral/missing",
    paper=PAPER,
    figure="App. A.1",
    shows="The spectral formula for several missing points, in any pattern, is exact.",
    config=Missing,
    presets={
        "quick": Preset(Missing(counts=(1, 2, 3, 5, 8), patterns=16, digit_pairs=16), "seconds"),
        "paper": Preset(Missing(mnist="fetched"), "seconds; needs MNIST"),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
