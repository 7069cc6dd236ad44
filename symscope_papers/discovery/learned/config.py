"""Config of the learned experiments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from symscope.discovery.learned import DATA_DEPENDENT, POINTWISE, SCALE_FREE, LearningObjective, TermWeights
from symscope_papers.config_bounds import check_at_least, check_field, check_one_of
from symscope_papers.discovery.learned.networks import small_network

OBJECTIVES = ("paper", "corrected", "scale-free", "pointwise")
PAPER_STEPS = 10_000  # of preset paper: the paper states none


def learning_objective(name: str, *, dependent: bool, generators: int) -> LearningObjective:
    """An objective by name, see `LearnedRun`.

    Terms of the library are means over generators and pairs of them; Eq. 7, 9 and 10 are sums, so "paper"
    takes as many times the weight.

    >>> learning_objective("paper", dependent=False, generators=3).weights.orthogonality
    3.0
    """
    weights = DATA_DEPENDENT if dependent else TermWeights()
    if name == "paper":
        sums = replace(
            weights,
            axiom=weights.axiom * generators**2,
            orthogonality=weights.orthogonality * generators * (generators - 1) / 2,
            sparsity=weights.sparsity * generators,
        )
        return LearningObjective(sums, axiom="eq7", orthogonality="signed")
    return {
        "corrected": LearningObjective(weights),
        "scale-free": SCALE_FREE,
        "pointwise": POINTWISE,
    }[name]


@final
@dataclass(frozen=True)
class LearnedRun:
    """Config of the learned experiments.

    Attributes:
        networks: Names of networks, see `networks`.
        objectives: "paper" (its weights, Eq. 5 to 10 as written), "corrected" (the same with the bracket
            condition for Eq. 7 and squared cosines for Eq. 9), "scale-free" (invariance as a cosine, weights
            ours) and "pointwise" (the same, fields kept apart at every point, eight data points for each).
        actions: Actions on parameters: "network", "linear" (`g theta`), "without W2".
        dependent: Whether the action sees the data point.
        seeds: Number of trainings, run at once.
        steps: Largest number of training steps.
        samples: Number of parameters, with data, to learn from.
        minibatch: Number of samples in a training step.
        learning_rate: Learning rate of Adam with the paper's objective; others take 3e-3.
        decay_every: Steps after which that rate is taken 0.6 times; 0 for never.
        points: Number of held-out parameters of the tests.
        flow_steps: Runge-Kutta steps of a held-out flow; its error is far below the drift of learned fields.
        tolerance: Relative loss drift that counts as unchanged. Ours: the paper names none.
    """

    networks: tuple[str, ...]
    objectives: tuple[str, ...] = ("scale-free", "paper")
    actions: tuple[str, ...] = ("network",)
    dependent: bool = False
    seeds: int = 2
    steps: int = 1500
    samples: int = 10_000
    minibatch: int = 128
    learning_rate: float = 1e-3
    decay_every: int = 1000
    points: int = 16
    flow_steps: int = 12
    tolerance: float = 0.05

    def __post_init__(self) -> None:
        for name in self.networks:
            small_network(name)
        check_one_of(self, OBJECTIVES, "objectives")
        alone = not (self.dependent and "pointwise" in self.objectives)
        check_field(self, "objectives", alone, "no 'pointwise' where actions see the data")
        check_at_least(self, 1, "seeds", "steps", "samples", "minibatch", "points")
        check_at_least(self, 0, "decay_every")
