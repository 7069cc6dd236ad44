"""Config of `dynamics/stability`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_positive
from symscope_papers.dynamics.random_problems import check_groups


@final
@dataclass(frozen=True)
class Stability:
    """Config of `dynamics/stability`.

    Attributes:
        groups: Names as `symscope.groups.parse` takes them.
        seeds: Number of problems per group.
        samples: Number of samples of each problem.
        horizon: Time of training (learning rate times steps).
        moments: Number of times at which training is examined.
        deviation: Size of the first step off E.
        passes: Random elements per step of sampled augmentation.
        steps: Steps of sampled augmentation.
        rate: Learning rate of sampled augmentation.
        repeats: Sampled trainings per problem.
    """

    groups: tuple[str, ...] = ("C4", "C6", "D4", "D5", "S3", "S4", "C3xC3")
    seeds: int = 6
    samples: int = 24
    horizon: float = 100.0
    moments: int = 13
    deviation: float = 1e-8
    passes: tuple[int, ...] = (4, 16, 64)
    steps: int = 50
    rate: float = 1e-4
    repeats: int = 16

    def __post_init__(self) -> None:
        check_groups(self.groups)
        check_at_least(self, 1, "seeds", "samples", "steps", "repeats", "passes")
        check_at_least(self, 3, "moments")
        check_positive(self, "horizon", "deviation", "rate")
