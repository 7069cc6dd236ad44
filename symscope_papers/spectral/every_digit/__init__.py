"""Fig. 1B with every digit left out in turn: three of them differ too much to decide what it states."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.every_digit.claims import judge_claims
from symscope_papers.spectral.every_digit.figures import draw_plots
from symscope_papers.spectral.every_digit.measure import cells
from symscope_papers.spectral.networks import BFLOAT, OPEN
from symscope_papers.spectral.networks.claims import FEW
from symscope_papers.spectral.networks.config import Networks
from symscope_papers.spectral.networks.measure import measure_cell

every_digit = Experiment(
    id="spectral/every-digit",
    paper=PAPER,
    figure="Fig. 1B",
    shows="Training, in-test and out-test accuracy of the networks of Fig. 1 with 8 angles, each of the ten "
    "digits left out in turn.",
    config=Networks,
    presets={
        "quick": Preset(
            Networks(
                networks=("conv", "mlp"),
                angles=(FEW,),
                left_out=(1, 3, 7),
                images=10,
                batch=64,
                measured_points=1000,
                long_networks=(),
            ),
            "a minute on two cores",
        ),
        "paper": Preset(
            Networks(
                mnist="fetched",
                networks=("conv", "mlp", "vit"),
                angles=(FEW,),
                long_networks=(),
                compiled=True,
                mixed_precision=True,
            ),
            "about 10 minutes on an H200, 7 of them for the ViT. Needs MNIST",
            (
                "The paper leaves out one class and does not say which: each of the ten in turn.",
                OPEN[1],
                BFLOAT,
            ),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
