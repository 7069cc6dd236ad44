"""Convolutional networks on pairs of rotated digits: dense read-out, pooling, filters apart."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.authors import AUTHORS, SCRIPTS, UNSTATED
from symscope_papers.spectral.conv_rotations.claims import judge_claims
from symscope_papers.spectral.conv_rotations.config import ConvRotations
from symscope_papers.spectral.conv_rotations.figures import draw_plots
from symscope_papers.spectral.conv_rotations.measure import cells, measure_cell

COST = "ten minutes on a GPU, half a day on two cores"
SIZES = (
    *UNSTATED,
    "The paper names no filter for this experiment; its proofs have 3 x 3 (Sec. 3.5.1), 5 x 5 is added.",
)

conv_rotations = Experiment(
    id="spectral/conv-rotations",
    paper=PAPER,
    figure="Fig. 5C-D, 7, 16, App. G.1",
    shows="On rotated digits convolutions with a dense read-out fail like any network; pooling helps, and "
    "only the exact group form predicts by how much.",
    config=ConvRotations,
    presets={
        "quick": Preset(
            ConvRotations(pairs=100, pooled_pairs=24, angles=(2, 4, 8, 16), filters=(3,)),
            "one to two minutes on two cores",
        ),
        "paper": Preset(ConvRotations(mnist="fetched"), COST, SIZES),
        "authors": Preset(ConvRotations(mnist="fetched", **AUTHORS), COST, (*SCRIPTS, *SIZES[1:])),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
