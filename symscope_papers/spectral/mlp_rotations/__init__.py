"""Pairs of rotated digits, wide ReLU networks: spectral error against regression (Fig. 4, 10, App. D)."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.authors import AUTHORS, SCRIPTS, UNSTATED
from symscope_papers.spectral.mlp_rotations.claims import judge_claims
from symscope_papers.spectral.mlp_rotations.config import MlpRotations
from symscope_papers.spectral.mlp_rotations.figures import draw_plots
from symscope_papers.spectral.mlp_rotations.measure import cells, measure_cell

mlp_rotations = Experiment(
    id="spectral/mlp-rotations",
    paper=PAPER,
    figure="Fig. 4, 10, App. D",
    shows="On pairs of rotated digits the spectral error tracks wide networks; the exact group form is them.",
    config=MlpRotations,
    presets={
        "quick": Preset(MlpRotations(pairs=100, angles=(2, 4, 8, 16, 32)), "20 s on two cores"),
        "paper": Preset(
            MlpRotations(mnist="fetched"), "under a minute on a GPU, 2 minutes on two cores", UNSTATED
        ),
        "authors": Preset(
            MlpRotations(mnist="fetched", **AUTHORS),
            "under a minute on a GPU, 2 minutes on two cores",
            SCRIPTS,
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
