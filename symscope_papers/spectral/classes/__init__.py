"""Ten classes, several digits each: the paper's rule, exact regression and trained networks (Fig. 6B, 13)."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.classes.claims import judge_claims
from symscope_papers.spectral.classes.config import Classes
from symscope_papers.spectral.classes.figures import draw_plots
from symscope_papers.spectral.classes.measure import cells, measure_cell

COST = "15 minutes on an H200, two cells at a time (26 minutes in cells); needs MNIST"
OPEN = (
    "The paper gives neither epochs, batch size nor the number of data sets: 2,000 epochs in batches of "
    "512, as in "
    "the scripts, and 10 data sets for error bars. Rotations are cubic splines, as in the scripts.",
    "The text gives no initialisation for this network: PyTorch's own, as for Fig. 1 (App. B.1).",
    "Networks compute in bfloat16, with weights and steps in float32; the paper's presumably in float32.",
)
AUTHORS = (
    "The scripts have one data set of 13 digits per class.",
    "The scripts subtract each image's mean before they normalise it.",
    "The scripts add 1e-5 to the spectrum in the rule and 1e-10 to the kernel in regression, in float32.",
    "The scripts train in NTK parameterisation with weights and biases uniform up to 1 / sqrt(outputs).",
)

classes_experiment = Experiment(
    id="spectral/classes",
    paper=PAPER,
    figure="Fig. 6B, 13",
    shows="Ten classes: how many angles it takes until left-out upright digits are recognised, by the "
    "paper's rule, by exact kernel regression and by trained networks.",
    config=Classes,
    presets={
        "quick": Preset(
            Classes(
                angles=(4, 8, 16, 32), seeds=3, trials=2, left_out=(1, 3, 5, 7, 9), epochs=100, batch=128
            ),
            "2 min on two cores",
        ),
        "paper": Preset(
            Classes(mnist="fetched", trials=10, compiled=True, together=10, mixed_precision=True), COST, OPEN
        ),
        "authors": Preset(
            Classes(
                mnist="fetched",
                trials=1,
                compiled=True,
                centred=True,
                ridge=1e-10,
                rule_ridge=1e-5,
                weights="scripts",
            ),
            COST,
            AUTHORS,
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
    version=2,
)
