"""Groups that lack the transposes of their elements: the two parts of the weights are coupled (App. A)."""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.linear import PAPER
from symscope_papers.linear.shear.claims import judge_claims
from symscope_papers.linear.shear.config import Shear
from symscope_papers.linear.shear.figures import draw_plots
from symscope_papers.linear.shear.measure import cells, measure_cell

shear = Experiment(
    id="linear/shear",
    paper=PAPER,
    figure="App. A",
    shows="Without the transposes of its elements a group does not split the weights in two independent "
    "parts; it is learned all the same.",
    config=Shear,
    presets={
        "quick": Preset(Shear(records=60), "half a minute"),
        "paper": Preset(
            Shear(points=100, shears=(0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0), epochs=6000),
            "a minute or two",
            (
                "The paper names the group of all translations and trains nothing on it: finitely many "
                "translations stand for it, and labels, points, learning rate and epochs are chosen here.",
                "Reflections about a point are added: a group of two without transposes, all of it at hand.",
            ),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
