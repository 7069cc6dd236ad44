"""Fig. 1: MLP, ConvNet and ViT on rotated MNIST whose symmetry is seen only in part."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.networks.claims import judge_claims
from symscope_papers.spectral.networks.config import Networks
from symscope_papers.spectral.networks.figures import draw_plots
from symscope_papers.spectral.networks.measure import cells, measure_cell

networks_experiment = Experiment(
    id="spectral/networks",
    paper=PAPER,
    figure="Fig. 1",
    shows="Ordinary networks do not learn rotation from partial sight of it: left-out upright digits are "
    "recognised only when neighbouring angles are near.",
    config=Networks,
    presets={
        "quick": Preset(
            Networks(
                networks=("mlp", "conv"),
                angles=(2, 8, 32),
                left_out=(3, 7),
                images=10,
                batch=64,
                measured_points=1000,
                long_networks=("mlp",),
                long_left_out=(3, 7),
                long_images=5,
                long_epochs=200,
            ),
            "2 min on two cores",
        ),
        "paper": Preset(
            Networks(mnist="fetched", compiled=True, mixed_precision=True),
            "40 minutes on a GPU with three workers, in pieces of under 10; needs MNIST",
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
