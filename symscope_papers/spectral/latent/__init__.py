"""Symmetries of objects, not of images: turns of a 3-D object that the network sees projected."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.latent.claims import judge_claims
from symscope_papers.spectral.latent.config import Latent
from symscope_papers.spectral.latent.figures import draw_plots
from symscope_papers.spectral.latent.measure import cells, measure_cell

latent_experiment = Experiment(
    id="spectral/latent",
    paper=PAPER,
    figure="beyond the paper",
    shows="Objects turned out of the image plane, seen in projection: errors at unseen poses beside those "
    "for turns of the image; neither the group form nor invariance under image turns carries over.",
    config=Latent,
    presets={
        "quick": Preset(
            Latent(
                tilts=(0, 90),
                objects=(2, 4),
                densities=(3, 6, 12),
                density_objects=4,
                trials=3,
                trained_trials=2,
                width=32,
                epochs=40,
            ),
            "20 s on two cores",
        ),
        "paper": Preset(
            Latent(),
            "8 minutes on two cores",
            ("Not in the paper, which leaves symmetries of objects open (Sec. 4): all of it is ours.",),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
