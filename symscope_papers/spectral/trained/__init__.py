"""Networks trained on pairs of rotated digits, against the theory of wide ones (Fig. 5B, 11, App. E)."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.authors import SCRIPTS, UNSTATED
from symscope_papers.spectral.trained.claims import judge_claims
from symscope_papers.spectral.trained.config import Trained
from symscope_papers.spectral.trained.figures import draw_plots
from symscope_papers.spectral.trained.measure import cells, measure_cell

RUNS_QUICK = ("ntk-adam", "pytorch-adam", "pytorch-sgd")
OPEN = (
    *UNSTATED,
    "The paper gives no number of epochs: up to 2,000 steps of Adam on all points, fewer where the mean "
    "squared "
    "error falls to 1e-5.",
)
WEIGHTS = (
    *SCRIPTS[:2],
    "The scripts draw weights and biases uniformly up to 1 / sqrt(outputs) in NTK parameterisation, and "
    "train for "
    "2,000 steps of Adam; the paper gives neither.",
    "The scripts leave out the last angle of the second digit and start both trainings of a pair from "
    "the same "
    "weights; here its upright image, and from different ones.",
)

trained_pairs = Experiment(
    id="spectral/trained",
    paper=PAPER,
    figure="Fig. 5B, 11, App. E",
    shows="Which pairs trained networks of finite width fail on, against what the spectral error predicts.",
    config=Trained,
    presets={
        "quick": Preset(
            Trained(pairs=12, angles=(4, 8, 16), runs=RUNS_QUICK, width=64, tolerance=1e-3, at_once=12),
            "two minutes on two cores",
        ),
        "paper": Preset(Trained(mnist="fetched"), "about 3 minutes on an H200, hours on two cores", OPEN),
        "authors": Preset(
            Trained(mnist="fetched", runs=("authors-adam",), centred=True, tolerance=0.0),
            "about 3 minutes on an H200, hours on two cores",
            WEIGHTS,
        ),
        "parameterisations": Preset(
            Trained(mnist="fetched", runs=("pytorch-adam", "pytorch-sgd")),
            "about 3 minutes on an H200, an hour on two cores",
            (*OPEN, "PyTorch's own parameterisation, with Adam and with gradient descent: not in the paper."),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
