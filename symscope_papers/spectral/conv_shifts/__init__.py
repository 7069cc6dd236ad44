"""Convolutional networks on pairs of shifted digits: dense read-out fails, pooling is exact (App. G.2)."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.authors import SCRIPTS
from symscope_papers.spectral.conv_shifts.claims import judge_claims
from symscope_papers.spectral.conv_shifts.config import ConvShifts
from symscope_papers.spectral.conv_shifts.figures import draw_plots
from symscope_papers.spectral.conv_shifts.measure import cells, measure_cell

SIZES = (
    "The paper gives neither the number of pairs nor the numbers of positions: both are those of the "
    "scripts.",
)
RIDGE = (
    "The scripts add ridges (1e-5 and 1e-10 of the trace), with which pooled errors are small numbers; "
    "here there "
    "is none, and the limit is taken exactly."
)

conv_shifts = Experiment(
    id="spectral/conv-shifts",
    paper=PAPER,
    figure="App. G.2",
    shows="On shifted digits a dense read-out fails as the formula predicts; pooling has no error at all, "
    "and the result explains why.",
    config=ConvShifts,
    presets={
        "quick": Preset(ConvShifts(pairs=48, dense=1), "one to two minutes on two cores"),
        "paper": Preset(ConvShifts(mnist="fetched"), "a few minutes on a GPU", SIZES),
        "authors": Preset(
            ConvShifts(mnist="fetched", centred=True),
            "a few minutes on a GPU",
            (*SIZES, *SCRIPTS[1:2], RIDGE),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
