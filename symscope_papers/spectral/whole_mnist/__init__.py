"""All of rotated MNIST, exactly: kernel regression on millions of points, every class left out in turn."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.whole_mnist.claims import judge_claims
from symscope_papers.spectral.whole_mnist.config import WholeMnist
from symscope_papers.spectral.whole_mnist.figures import draw_plots
from symscope_papers.spectral.whole_mnist.measure import cells, measure_cell

whole_mnist_experiment = Experiment(
    id="spectral/whole-mnist",
    paper=PAPER,
    figure="beyond Fig. 6B",
    shows="Exact kernel regression over whole orbits of all digits, where the paper had to stop at 13 digits "
    "of each class: from thousands to millions of points.",
    config=WholeMnist,
    presets={
        "quick": Preset(
            WholeMnist(
                seeds=(5, 30),
                whole_angles=(16,),
                memory="500MB",
                check_seeds=6,
                check_angles=16,
            ),
            "1 min on two cores",
        ),
        "paper": Preset(
            WholeMnist(mnist="fetched"),
            "10 min on a GPU with 140 GB, of which 8 for all of MNIST; needs MNIST",
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
