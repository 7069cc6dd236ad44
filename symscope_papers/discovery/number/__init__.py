"""Sec. 6's open questions: does the number of symmetries change in training, or with symmetric data?"""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.discovery import PAPER
from symscope_papers.discovery.number.claims import judge_claims
from symscope_papers.discovery.number.config import Number
from symscope_papers.discovery.number.figures import draw_plots
from symscope_papers.discovery.number.measure import cells, measure_cell

OURS = ("The paper asks the question and trains nothing; networks, data and steps are ours.",)

number = Experiment(
    id="discovery/number",
    paper=PAPER,
    figure="Sec. 6",
    shows="How many directions keep every loss, before, during and after training, and with symmetric data.",
    config=Number,
    presets={
        "quick": Preset(Number(), "5 s of one core", OURS),
        "paper": Preset(Number(seeds=tuple(range(20)), steps=(0, 10, 100, 1000)), "5 min of one core", OURS),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
