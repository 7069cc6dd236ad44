"""Fig. 1a: is a graph connected? S_10 acts on 10 x 10 adjacency matrices."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.dynamics import PAPER
from symscope_papers.dynamics.permutation.claims import judge_claims
from symscope_papers.dynamics.permutation.config import Permutation
from symscope_papers.dynamics.permutation.figures import draw_plots
from symscope_papers.dynamics.permutation.measure import measure_cell
from symscope_papers.dynamics.strategies.measure import strategy_cells
from symscope_papers.dynamics.strategies.scripts import SHARED

permutations = Experiment(
    id="dynamics/permutation",
    paper=PAPER,
    figure="Fig. 1a",
    shows="Classifying graphs from an equivariant start: augmented training leaves E by sampling noise only, "
    "far more slowly than nominal training.",
    config=Permutation,
    presets={
        "quick": Preset(
            Permutation(nodes=8, graphs=200, channels=8, invariant=16, hidden=8, runs=6, batch=40, block=6),
            "half a minute on one core",
        ),
        "paper": Preset(
            Permutation(),
            "half a minute on an H200",
            differences=(
                "The number of passes, which the paper does not give, is 25 as in the authors' scripts.",
                "Mini-batches, whose size the paper does not give, are of 200 as in the authors' scripts.",
                "Batch normalisation stands before the leaky ReLU of pooling; the text leaves this open.",
            ),
        ),
        "authors": Preset(
            Permutation(scripts=True, rate=1e-4, batch=1),
            "a minute on an H200",
            differences=(
                "The learning rate is 1e-4.",
                "Every graph is permuted on its own, so mini-batches are of one graph here; in EQUIVARIANT, "
                "too, which the projection undoes but for the last layer, and which is not done here.",
                "Normalisation stands after the leaky ReLU of pooling.",
                *SHARED,
            ),
        ),
    },
    cells=strategy_cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
    version=2,
)
