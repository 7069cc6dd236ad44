"""A contiguous gap of angles instead of one missing angle: does density help kernels and networks?"""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.gaps.claims import judge_claims
from symscope_papers.spectral.gaps.config import Gaps
from symscope_papers.spectral.gaps.figures import draw_plots
from symscope_papers.spectral.gaps.measure import cells, measure_cell

gaps_experiment = Experiment(
    id="spectral/gaps",
    paper=PAPER,
    figure="beyond Fig. 4 and 5",
    shows="Denser orbits predict a single missing angle, but hardly one in the middle of a gap of 45° "
    "or 90°.",
    config=Gaps,
    presets={
        "quick": Preset(
            Gaps(pairs=12, angles=(8, 16, 32), runs=("pytorch-adam",), width=64, tolerance=1e-3),
            "20 s on two cores",
        ),
        "paper": Preset(
            Gaps(mnist="fetched", pairs=128, runs=("ntk-adam", "pytorch-adam")),
            "7 minutes on an H200",
            ("Not in the paper: pairs, images and networks are those of Sec. 3.3, the gaps are ours.",),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
