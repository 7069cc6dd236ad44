"""Fig. 1b: which digit is it? Z_14^2 shifts 14 x 14 images around a torus."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.dynamics import PAPER
from symscope_papers.dynamics.strategies.scripts import SHARED
from symscope_papers.dynamics.translation.claims import judge_claims
from symscope_papers.dynamics.translation.config import Translation
from symscope_papers.dynamics.translation.figures import draw_plots
from symscope_papers.dynamics.translation.measure import cells, measure_cell

translations = Experiment(
    id="dynamics/translation",
    paper=PAPER,
    figure="Fig. 1b",
    shows="Classifying digits with dense layers from an equivariant start: augmented training leaves E by "
    "sampling noise only, far more slowly than nominal training.",
    config=Translation,
    presets={
        "quick": Preset(
            Translation(
                size=7,
                images=300,
                channels=(4, 4),
                invariant=8,
                mnist="sample",
                runs=5,
                epochs=30,
                block=5,
                together=True,
                precision="double",
                check_runs=1,
            ),
            "a minute on one core",
        ),
        "paper": Preset(
            Translation(),
            "9 min on an H200",
            differences=(
                "The number of passes, which the paper does not give, is 25 as in the authors' scripts.",
                "Mini-batches, whose size the paper does not give, are of 25 as in the authors' scripts.",
                "Batch normalisation stands before the leaky ReLU of pooling; the text leaves this open.",
            ),
        ),
        "authors": Preset(
            Translation(scripts=True),
            "nine minutes on an H200",
            differences=(
                "Shifts are drawn from 0 to 14, both included: none is as likely as two others.",
                "Not done here: since September 2023 the scripts shift along one axis only, with a network "
                "for these shifts; what is done is the two axes of the text and of the scripts before.",
                "A tanh follows pooling, and normalisation the tanh.",
                "The loss takes the softmax of the softmax of the last layer.",
                "Not done here: images are made smaller with antialiasing.",
                *SHARED,
            ),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
    version=2,
)
