"""Fields learned by gradient descent: Fig. 2 to 6, networks with and without continuous linear symmetries.

`scalar_linear` (Fig. 2) and `homogeneous` (Fig. 5) compare with exact Lie algebras; `sigmoid`, `tanh_deep`
and `skip` (Sec. 5.4) learn symmetries that depend on the data, of networks without any other.
"""

from __future__ import annotations

from symscope.runs import Experiment, Preset
from symscope_papers.discovery import PAPER
from symscope_papers.discovery.learned.config import LearnedRun
from symscope_papers.discovery.learned.dependent_claims import deep_claims, sigmoid_claims, skip_claims
from symscope_papers.discovery.learned.figures import learned_plots
from symscope_papers.discovery.learned.homogeneous_claims import homogeneous_claims
from symscope_papers.discovery.learned.measure import cells, measure_cell
from symscope_papers.discovery.learned.scalar_claims import scalar_claims

SCALAR = "linear 1-1-1"


scalar_linear = Experiment(
    id="discovery/scalar-linear",
    paper=PAPER,
    figure="Fig. 2",
    shows="One learned generator of a two-layer linear network with scalar weights is the rescaling.",
    config=LearnedRun,
    presets={
        "quick": Preset(
            LearnedRun((SCALAR,), actions=("network", "linear"), steps=1000, seeds=3), "half a minute"
        ),
        "paper": Preset(
            LearnedRun((SCALAR,), actions=("network", "linear"), steps=10_000, seeds=10, points=64),
            "5 min on two cores",
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=learned_plots("Fig. 2"),
    claims=scalar_claims,
)


HOMOGENEOUS = ("linear 1-2-1", "ReLU 2-2-2", "leaky ReLU 2-3-2")
OBJECTIVES = ("pointwise", "scale-free", "paper")


homogeneous = Experiment(
    id="discovery/homogeneous",
    paper=PAPER,
    figure="Fig. 5",
    shows="Learned fields of linear and ReLU networks move along the orbits of their exact Lie algebras.",
    config=LearnedRun,
    presets={
        "quick": Preset(
            LearnedRun(HOMOGENEOUS, OBJECTIVES, ("network", "linear"), steps=2000), "four minutes"
        ),
        "paper": Preset(
            LearnedRun(HOMOGENEOUS, OBJECTIVES, ("network", "linear"), steps=10_000, seeds=5, points=64),
            "25 minutes in one process",
        ),
    },
    cells=cells,
    measure=measure_cell,
    plot=learned_plots("Fig. 5"),
    claims=homogeneous_claims,
)


def _presets(network: str, actions: tuple[str, ...] = ("network",)) -> dict[str, Preset]:
    quick = LearnedRun((network,), actions=actions, dependent=True, steps=1500)
    paper = LearnedRun((network,), actions=actions, dependent=True, steps=10_000, seeds=5, points=64)
    return {
        "quick": Preset(quick, "half a minute to a minute"),
        "paper": Preset(paper, "5 to 15 min on two cores"),
    }


sigmoid = Experiment(
    id="discovery/sigmoid",
    paper=PAPER,
    figure="Fig. 3, 6",
    shows="A sigmoid network has data-dependent symmetries for one data point, and they can be learned.",
    config=LearnedRun,
    presets=_presets("sigmoid 3-3-1"),
    cells=cells,
    measure=measure_cell,
    plot=learned_plots("Fig. 3"),
    claims=sigmoid_claims,
)


tanh_deep = Experiment(
    id="discovery/tanh-deep",
    paper=PAPER,
    figure="Fig. 4",
    shows="Data-dependent symmetries of a three-layer tanh network, and whether they skip a layer.",
    config=LearnedRun,
    presets=_presets("tanh 2-2-2-1", ("network", "without W2")),
    cells=cells,
    measure=measure_cell,
    plot=learned_plots("Fig. 4"),
    claims=deep_claims,
)


skip = Experiment(
    id="discovery/skip",
    paper=PAPER,
    figure="Sec. 5.4",
    shows="Data-dependent symmetries of a three-layer network with a skip connection.",
    config=LearnedRun,
    presets=_presets("tanh 2-2-2-1 with skip"),
    cells=cells,
    measure=measure_cell,
    plot=learned_plots("Sec. 5.4"),
    claims=skip_claims,
)
