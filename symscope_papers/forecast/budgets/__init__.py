"""What users get for a budget in seconds: `symscope.forecasting.forecast` against whole trainings.

A case is a data set, a network, a group, a coverage and a number of samples (`cases.csv`), none of which the
bank has in this combination; every network is new to it. Each is forecast in a few shares of the time of the
trainings that would answer without a forecast.
"""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.forecast import PAPER
from symscope_papers.forecast.budgets.claims import judge_claims
from symscope_papers.forecast.budgets.config import Budgets
from symscope_papers.forecast.budgets.figures import draw_plots
from symscope_papers.forecast.budgets.measure import cells, measure_cell

budgets = Experiment(
    id="forecast/budgets",
    paper=PAPER,
    figure="beyond the papers",
    shows="How far forecasts in a share of the time of trainings are from them, for networks the bank lacks.",
    config=Budgets,
    presets={
        "quick": Preset(
            Budgets(
                data=("graphs", "points"),
                networks=("max-gnn", "set-transformer"),
                shares=(0.5, 2.0),
                samples=20,
                steps=150,
            ),
            "a few seconds on one core; too small to mean anything",
        ),
        "paper": Preset(Budgets(), "half an hour of one core that does nothing else; needs scikit-learn"),
        "minutes": Preset(Budgets(length="minutes"), "trainings of 10 s to 6 min; an hour of one core"),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
