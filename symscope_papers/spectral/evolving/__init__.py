"""Do kernels and features of trained networks adapt to a symmetry that is seen in part?"""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.evolving.claims import judge_claims
from symscope_papers.spectral.evolving.config import Evolving
from symscope_papers.spectral.evolving.figures import draw_plots
from symscope_papers.spectral.evolving.measure import cells, measure_cell

evolving = Experiment(
    id="spectral/evolving",
    paper=PAPER,
    figure="Sec. 2, 4",
    shows="Kernels and features of networks while they train on partly seen orbits: whether the kernel "
    "learns the symmetry, and how orbits lie before and after training.",
    config=Evolving,
    presets={
        "quick": Preset(
            Evolving(classes=(0, 1, 4), seeds=2, angles=(8,), networks=("mlp",), starts=2, epochs=(0, 2, 40)),
            "20 s of one core",
            ("Three classes of two digits each.",),
        ),
        "paper": Preset(
            Evolving(mnist="fetched"),
            "hours on an H200: 8 angles take 30 minutes, nearly all for the ViT, and 32 angles have 16 times "
            "the entries. Needs MNIST",
            (
                "13 digits of each class, as in Sec. 3.4, with the networks of Fig. 1; epochs, in batches of "
                "128, are ours.",
            ),
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=draw_plots,
    claims=judge_claims,
)
