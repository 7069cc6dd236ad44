"""Many digits per class: the spectral error of pairs, averaged, against regression (Fig. 6A, 12)."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.seeds.claims import judge_claims
from symscope_papers.spectral.seeds.config import Seeds
from symscope_papers.spectral.seeds.figures import draw_plots
from symscope_papers.spectral.seeds.measure import cells, measure_cell

many_seeds = Experiment(
    id="spectral/seeds",
    paper=PAPER,
    figure="Fig. 6A, 12",
    shows="Averaged over pairs, the spectral error predicts regression on many digits; the group form is it.",
    config=Seeds,
    presets={
        "quick": Preset(Seeds(seeds=5, trials=20, angles=(2, 4, 8, 16, 32)), "10 s on two cores"),
        "paper": Preset(Seeds(mnist="fetched"), "a minute on a GPU, 3 minutes on two cores"),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
