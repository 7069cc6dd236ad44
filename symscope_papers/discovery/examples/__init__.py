"""Examples and small theorems of Sec. 2, 3 and 5.4 and App. A.4, checked to rounding."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.discovery import PAPER
from symscope_papers.discovery.examples.claims import judge_claims
from symscope_papers.discovery.examples.config import Examples
from symscope_papers.discovery.examples.figures import draw_plots
from symscope_papers.discovery.examples.measure import cells, measure_cell

OURS = ("The paper states these in words and formulas; sizes and draws are ours.",)

examples = Experiment(
    id="discovery/examples",
    paper=PAPER,
    figure="Sec. 2, 3, 5.4, App. A.4",
    shows="Known and stated symmetries one by one: homogeneous, radial, normalised, hidden, layers apart.",
    config=Examples,
    presets={
        "quick": Preset(Examples(), "10 s of one core", OURS),
        "paper": Preset(Examples(seeds=tuple(range(10)), draws=200), "2 min of one core", OURS),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
