"""A bank of forecasts, fixed before training, and of what networks then did.

A case is a data set, a network, a group, a coverage and a number of samples (`cases.csv`). Forecasts of
several costs and baselines are held against two whole trainings that differ in seed and optimiser.
"""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.forecast import PAPER
from symscope_papers.forecast.bank.claims import judge_claims
from symscope_papers.forecast.bank.config import Bank
from symscope_papers.forecast.bank.figures import draw_plots
from symscope_papers.forecast.bank.measure import cells, measure_cell

bank = Experiment(
    id="forecast/bank",
    paper=PAPER,
    figure="beyond the papers",
    shows="How far forecasts are from trained networks, beside how far trainings are from each other.",
    config=Bank,
    presets={
        "quick": Preset(
            Bank(
                mnist="sample",
                data=("mnist", "points"),
                networks=("mlp", "deepsets"),
                samples=(25,),
                left_out=1,
                steps=300,
            ),
            "half a minute on one core",
        ),
        "cores": Preset(
            Bank(mnist="sample", data=("mnist", "digits", "points"), samples=(25, 100)),
            "hours on two cores; needs scikit-learn",
        ),
        "paper": Preset(
            Bank(), "20 min of an H200; needs MNIST, scikit-learn, and folders of Fashion-MNIST and CIFAR-10"
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
