"""Fig. 1c: where is the pentagon, where the triangle? C4 turns 14 x 14 images and their masks.

The paper finds AUGMENTED close to NOMINAL here, and says that the reason can only be speculated on. The
scripts published with it turn images flattened to one axis: of quarter turns only the half turn is left
(drawn with probability 3/5, nothing with 2/5). Training with those elements is shown beside the paper's four.
The preset `authors` does what those scripts do, as far as its list of differences says.
"""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.dynamics import PAPER
from symscope_papers.dynamics.rotation.claims import judge_claims
from symscope_papers.dynamics.rotation.config import Rotation
from symscope_papers.dynamics.rotation.figures import draw_plots
from symscope_papers.dynamics.rotation.measure import cells, measure_cell
from symscope_papers.dynamics.strategies.scripts import SHARED

rotations = Experiment(
    id="dynamics/rotation",
    paper=PAPER,
    figure="Fig. 1c",
    shows="Segmenting shapes from an equivariant start: augmented training stays near E as with other "
    "groups; it is as far as nominal training when only half turns are drawn, as in the authors' scripts.",
    config=Rotation,
    presets={
        "quick": Preset(
            Rotation(
                size=8,
                images=200,
                channels=(4, 4, 3),
                runs=5,
                block=5,
                together=True,
                precision="double",
                check_runs=1,
            ),
            "a minute on one core",
        ),
        "paper": Preset(
            Rotation(),
            "3 min on an H200",
            differences=(
                "The number of passes, which the paper does not give, is 25 as in the authors' scripts.",
                "Mini-batches, whose size the paper does not give, are of 25 as in the authors' scripts.",
                "The canvas, whose size the paper does not give, holds every shape whole.",
            ),
        ),
        "authors": Preset(
            Rotation(scripts=True),
            "three minutes on an H200",
            differences=(
                "Half turns with probability 3/5 and nothing else are drawn: images are turned while "
                "flattened, and five numbers are drawn for four turns.",
                "Images are dark on white with one half subtracted, and the mask of the shape that is not "
                "shown is all ones.",
                "A leaky ReLU stands before the last normalisation.",
                *SHARED,
                "The canvas is wider than high, and shapes are cut off at the edge of its middle square.",
            ),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
    version=2,
)
