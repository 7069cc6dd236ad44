"""How good forecasts are: over architectures, groups and data, against networks that were then trained.

For every case some samples of every class are shown in all transformations, but for one class, which lacks
them untransformed. Forecasts of the accuracy there are compared with trained networks, class by class, and
their error with that of a training itself as forecast of another that differs in optimiser or width.
"""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.forecast import PAPER
from symscope_papers.forecast.quality.claims import judge_claims
from symscope_papers.forecast.quality.config import Quality
from symscope_papers.forecast.quality.figures import draw_plots
from symscope_papers.forecast.quality.measure import cells, measure_cell

quality = Experiment(
    id="forecast/quality",
    paper=PAPER,
    figure="beyond the papers",
    shows="How far forecasts are from trained networks, beside how far trainings are from each other.",
    config=Quality,
    presets={
        "quick": Preset(
            Quality(
                datasets=("mnist", "points"),
                actions=("C4", "C8", "flip"),
                point_actions=("C8",),
                networks=("mlp-1", "mlp-2"),
                classes=5,
                left_out=3,
                steps=100,
                per_class=4,
                draws=3,
                repeats=2,
                kernel_repeats=1,
                logistic_steps=200,
            ),
            "3 min on two busy cores",
        ),
        "cores": Preset(
            Quality(
                datasets=("mnist-14", "digits", "points"),
                skipped=("mnist-14:vit",),
                classes=5,
                left_out=3,
                points=480,
                repeats=2,
            ),
            "two to three hours on one core; needs scikit-learn",
        ),
        "paper": Preset(
            Quality(mnist="fetched", datasets=("mnist", "digits", "points")),
            "90 cells, meant for a GPU; needs MNIST and scikit-learn",
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
