"""Networks trained on pairs of rotated digits, against the theory of wide ones (Fig. 5B, 11, App. E)."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.trained.claims import judge_claims
from symscope_papers.spectral.trained.config import Trained
from symscope_papers.spectral.trained.figures import draw_plots
from symscope_papers.spectral.trained.measure import cells, measure_cell

trained_pairs = Experiment(
    id="spectral/trained",
    paper=PAPER,
    figure="Fig. 5B, 11, App. E",
    shows="Which pairs trained networks of finite width fail on, against what the spectral error predicts.",
    config=Trained,
    presets={
        "quick": Preset(
            Trained(
                pairs=24,
                angles=(4, 8, 16),
                runs=("pytorch-adam", "pytorch-sgd"),
                width=256,
                tolerance=1e-4,
                at_once=24,
            ),
            "a minute on two cores",
        ),
        "paper": Preset(Trained(mnist="fetched"), "about 5 minutes on an H200, hours on two cores"),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
