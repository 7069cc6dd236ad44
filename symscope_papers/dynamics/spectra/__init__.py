"""Sec. 6's open question: the spectra of Hess R_aug in concrete cases, the networks of Fig. 1."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.dynamics import PAPER
from symscope_papers.dynamics.spectra.claims import judge_claims
from symscope_papers.dynamics.spectra.config import Spectra
from symscope_papers.dynamics.spectra.figures import draw_plots
from symscope_papers.dynamics.spectra.measure import cells, measure_cell

spectra = Experiment(
    id="dynamics/spectra",
    paper=PAPER,
    figure="Sec. 4.2, 5.1, 6",
    shows="Whether E is unstable for the networks of Fig. 1 by the spectrum outside E, and whether 50 epochs "
    "at a learning rate of 1e-5 are enough to see it.",
    config=Spectra,
    presets={
        "quick": Preset(
            Spectra(sizes="small", samples=60, runs=1, steps=100, mnist="sample", tolerance=1e-3),
            "a minute on one core",
            ("Networks of the same make with few channels on small images and graphs.",),
        ),
        "paper": Preset(
            Spectra(),
            "about half an hour and 45 GB of memory of an H200: 3 to 7 minutes a start, beside other work",
            (
                "Curvature is that of the risk of the first 200 samples, because a product with the Hessian "
                "of all would take up to 20 seconds; at all turns or shifts of them, or 256 random "
                "permutations.",
                "The trained network is trained inside E, at half of one over the highest curvature there: "
                "50 epochs at 1e-5 move it by a thousandth.",
            ),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
