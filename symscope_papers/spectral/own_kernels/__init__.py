"""Kernels of the networks of Fig. 1 themselves, averaged over initialisations."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.own_kernels.claims import judge_claims
from symscope_papers.spectral.own_kernels.config import OwnKernels
from symscope_papers.spectral.own_kernels.figures import draw_plots
from symscope_papers.spectral.own_kernels.measure import cells, measure_cell

own_kernels = Experiment(
    id="spectral/own-kernels",
    paper=PAPER,
    figure="beyond Fig. 5",
    shows="Tangent kernels of the paper's MLP, ConvNet and ViT at their start, averaged over "
    "initialisations: are they circulant over an orbit, and what do they predict?",
    config=OwnKernels,
    presets={
        "quick": Preset(
            OwnKernels(networks=("conv", "vit"), angles=(4,), pairs=3, starts=2), "20 s of one core"
        ),
        "paper": Preset(
            OwnKernels(mnist="fetched", pairs=64, starts=64, angles=(4, 8, 16)),
            "about 15 minutes on an H200: 10 without the ViT at 16 angles. Needs MNIST",
            ("The paper's theory is for infinite width and other networks; this is its three trained ones.",),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
