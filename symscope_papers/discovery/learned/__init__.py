"""Fields learned by gradient descent: Fig. 2 to 6, networks with and without continuous linear symmetries.

`scalar_linear` (Fig. 2) and `homogeneous` (Fig. 5) compare with exact Lie algebras; `sigmoid`, `tanh`,
`tanh_deep` and `skip` (Sec. 5.4) learn symmetries that depend on the data, of networks without any other.

Preset `paper` trains with the paper's objective, weights, learning rate and decay alone, `ours` with
objectives of ours, `quick` with both, shortly.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from symscope.runs import Experiment, Preset
from symscope_papers.discovery import PAPER
from symscope_papers.discovery.learned.config import PAPER_STEPS, LearnedRun
from symscope_papers.discovery.learned.dependent_claims import attempt_claims, deep_claims, sigmoid_claims
from symscope_papers.discovery.learned.figures import learned_plots
from symscope_papers.discovery.learned.homogeneous_claims import homogeneous_claims
from symscope_papers.discovery.learned.measure import cells, measure_cell
from symscope_papers.discovery.learned.scalar_claims import scalar_claims

OPEN_SETTINGS = (
    f"How long the paper trains is not stated; here up to {PAPER_STEPS} steps, fewer when a thousand bring "
    "nothing, and the state with the lowest held-out objective is taken.",
    "γ3 is not stated; here 1. β is not stated; here 1.",
    "The number of generators, of points in a step (here 128) and of seeds is not stated.",
    "The activation of the action network is not stated; here tanh: Eq. 7 takes second derivatives.",
    "How parameters and data are drawn is not stated; here normal, by fan-in. Nor the optimizer; here Adam.",
    "Whether Eq. 5 and 8 are sums or means over generators is not stated; here means.",
)
NO_DECAY = "Sec. 5.4 states no decay of the learning rate; here none."
OURS = ("Objective, learning rate and weights are ours; networks and data are the paper's.",)
SHORT = ("Fewer steps and seeds; objectives of ours beside the paper's.",)


def _presets(
    quick: LearnedRun, ours: LearnedRun, *, seeds: int, costs: tuple[str, str, str]
) -> dict[str, Preset]:
    """Presets of an experiment; `paper` is `quick` at full length, with the paper's objective alone."""
    paper = replace(
        quick, objectives=("paper",), actions=("network",), steps=PAPER_STEPS, seeds=seeds, points=64
    )
    left_open = (*OPEN_SETTINGS, NO_DECAY) if quick.dependent else OPEN_SETTINGS
    return {
        "quick": Preset(quick, costs[0], SHORT),
        "paper": Preset(paper, costs[1], left_open),
        "ours": Preset(replace(ours, steps=PAPER_STEPS, seeds=seeds, points=64), costs[2], OURS),
    }


_learned = partial(Experiment, paper=PAPER, config=LearnedRun, cells=cells, measure=measure_cell)

SCALAR = LearnedRun(
    ("linear 1-1-1",), ("paper", "corrected", "scale-free"), ("network", "linear"), steps=1000, seeds=3
)

scalar_linear = _learned(
    id="discovery/scalar-linear",
    figure="Fig. 2",
    shows="Whether a learned generator of a two-layer linear network with scalar weights is the rescaling.",
    presets=_presets(
        SCALAR,
        replace(SCALAR, objectives=("corrected", "scale-free")),
        seeds=20,
        costs=("half a minute", "5 min on one core", "15 min on one core"),
    ),
    plot=learned_plots("Fig. 2"),
    claims=scalar_claims,
    version=2,
)


HOMOGENEOUS = ("linear 1-2-1", "ReLU 2-2-2", "leaky ReLU 2-3-2")

homogeneous = _learned(
    id="discovery/homogeneous",
    figure="Fig. 5",
    shows="How far learned fields of linear and ReLU networks move along the orbits of their Lie algebras.",
    presets=_presets(
        LearnedRun(HOMOGENEOUS, ("paper", "pointwise"), ("network",), steps=1500),
        LearnedRun(HOMOGENEOUS, ("corrected", "scale-free", "pointwise"), ("network", "linear")),
        seeds=5,
        costs=("two minutes", "10 min on one core, 3 cells", "25 min on one core, 12 cells"),
    ),
    plot=learned_plots("Fig. 5"),
    claims=homogeneous_claims,
    version=2,
)


def _dependent_presets(network: str, actions: tuple[str, ...] = ("network",)) -> dict[str, Preset]:
    quick = LearnedRun(
        (network,), ("paper", "scale-free"), actions, dependent=True, steps=1000, decay_every=0
    )
    return _presets(
        quick,
        replace(quick, objectives=("corrected", "scale-free")),
        seeds=5,
        costs=("half a minute to a minute", "5 to 10 min on one core", "10 to 25 min on one core"),
    )


sigmoid = _learned(
    id="discovery/sigmoid",
    figure="Fig. 3, 6",
    shows="Whether data-dependent symmetries of a two-layer sigmoid network for one data point are learned.",
    presets=_dependent_presets("sigmoid 3-3-1"),
    plot=learned_plots("Fig. 3"),
    claims=sigmoid_claims,
    version=2,
)


tanh = _learned(
    id="discovery/tanh",
    figure="Sec. 5.4",
    shows="Whether data-dependent symmetries of a two-layer tanh network for one data point are learned.",
    presets=_dependent_presets("tanh 3-3-1"),
    plot=learned_plots("Sec. 5.4"),
    claims=attempt_claims,
)


tanh_deep = _learned(
    id="discovery/tanh-deep",
    figure="Fig. 4",
    shows="Whether data-dependent symmetries of a three-layer tanh network are learned, and skip a layer.",
    presets=_dependent_presets("tanh 2-2-2-1", ("network", "without W2")),
    plot=learned_plots("Fig. 4"),
    claims=deep_claims,
    version=2,
)


skip = _learned(
    id="discovery/skip",
    figure="Sec. 5.4",
    shows="Whether data-dependent symmetries of a three-layer network with a skip connection are learned.",
    presets=_dependent_presets("tanh 2-2-2-1 with skip"),
    plot=learned_plots("Sec. 5.4"),
    claims=attempt_claims,
    version=2,
)
