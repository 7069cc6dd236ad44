"""The spectrum of a small network's empirical weights kernel: which directions can be learned (Fig. 5)."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.linear import PAPER
from symscope_papers.linear.ewk_spectrum.claims import judge_claims
from symscope_papers.linear.ewk_spectrum.config import Ewk
from symscope_papers.linear.ewk_spectrum.figures import draw_plots
from symscope_papers.linear.ewk_spectrum.measure import cells, measure_cell

ewk = Experiment(
    id="linear/ewk-spectrum",
    paper=PAPER,
    figure="Fig. 5",
    shows="Most directions of weight space are degenerate: eigenvalues spread over many orders of magnitude.",
    config=Ewk,
    presets={
        "quick": Preset(Ewk(networks=3, activations=("relu",)), "half a minute"),
        "paper": Preset(
            Ewk(),
            "eight minutes on two cores",
            (
                "Activation and initialisation are not stated: ReLU and tanh, each with PyTorch's own and "
                "with standard normal weights.",
                "The distribution of the points in [0, 1]³ is not stated: uniform.",
                "The level below which an eigenvalue is zero is not stated: 501 rounding units of the "
                "largest, in float64.",
                "The paper shows one network, here are twenty of each kind.",
            ),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
