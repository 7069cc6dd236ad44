"""Config of `dynamics/penalty`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_between, check_field, check_positive
from symscope_papers.dynamics.random_problems import check_groups

DEVIATION = 1e-7


@final
@dataclass(frozen=True)
class Penalty:
    """Config of `dynamics/penalty`.

    Attributes:
        groups: Names as `symscope.groups.parse` takes them.
        seeds: Number of problems per group and kind (`symscope_papers.dynamics.penalty.problems`).
        samples: Number of samples that tied neurons are fitted to.
        multiples: Penalties to train with, as multiples of the predicted one.
        times: Length of a training, in units of one over the instability's rate.
        bisections: Halvings of the interval that holds the smallest stabilising penalty.
    """

    groups: tuple[str, ...] = ("C4", "C6", "D4", "D5", "S3", "S4", "C3xC3")
    seeds: int = 3
    samples: int = 15
    multiples: tuple[float, ...] = (0.0, 0.5, 0.75, 1.1, 2.0)
    times: float = 12.0
    bisections: int = 8

    def __post_init__(self) -> None:
        check_groups(self.groups)
        check_at_least(self, 1, "seeds", "samples", "bisections")
        check_positive(self, "times")
        check_between(self, 0, 3, "multiples")
        check_field(self, "multiples", 1.0 not in self.multiples, "no 1, where theory does not decide")
