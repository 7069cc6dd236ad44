"""Permutations acting on a network's features: the error with the fitted matrix against without (Table 1)."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.linear import PAPER
from symscope_papers.linear.kernelised.claims import judge_claims
from symscope_papers.linear.kernelised.config import Kernelised
from symscope_papers.linear.kernelised.figures import draw_plots
from symscope_papers.linear.kernelised.measure import cells, measure_cell

kernelised = Experiment(
    id="linear/kernelised",
    paper=PAPER,
    figure="Table 1",
    shows="A permutation of the inputs acts almost linearly on a network's gradients and activations.",
    config=Kernelised,
    presets={
        "quick": Preset(Kernelised(networks=5, points=(300, 1_000, 10_000), held_out=4_000), "half a minute"),
        "paper": Preset(
            Kernelised(),
            "ten minutes on two cores",
            (
                "Activation and initialisation are not stated: ReLU, PyTorch's own.",
                "Number and distribution of the points are not stated for Table 1: those of Fig. 5, 100000 "
                "uniform in [0, 1]³.",
                "The paper shows one network, here are ten; errors on new points are added.",
            ),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
