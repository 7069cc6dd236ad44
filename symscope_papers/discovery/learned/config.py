"""Config of the learned experiments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope.discovery.learned import POINTWISE, SCALE_FREE
from symscope_papers.config_bounds import check_at_least, check_field, check_one_of
from symscope_papers.discovery.learned.networks import small_network

OBJECTIVES = {"scale-free": SCALE_FREE, "pointwise": POINTWISE}


@final
@dataclass(frozen=True)
class LearnedRun:
    """Config of the learned experiments.

    Attributes:
        networks: Names of networks, see `networks`.
        objectives: "paper" (its weights and Eq. 5), "scale-free" (invariance as a cosine, weights ours) and
            "pointwise" (the same, fields kept apart at every point, eight data points for each).
        actions: Actions on parameters: "network", "linear" (`g theta`), "without W2".
        dependent: Whether the action sees the data point.
        seeds: Number of trainings, run at once.
        steps: Largest number of training steps.
        samples: Number of parameters, with data, to learn from.
        minibatch: Number of samples in a training step.
        learning_rate: Learning rate of Adam; the paper's is 1e-3.
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
    learning_rate: float = 3e-3
    points: int = 16
    flow_steps: int = 12
    tolerance: float = 0.05

    def __post_init__(self) -> None:
        for name in self.networks:
            small_network(name)
        check_one_of(self, ("paper", *OBJECTIVES), "objectives")
        alone = not (self.dependent and "pointwise" in self.objectives)
        check_field(self, "objectives", alone, "no 'pointwise' where actions see the data")
        check_at_least(self, 1, "seeds", "steps", "samples", "minibatch", "points")
