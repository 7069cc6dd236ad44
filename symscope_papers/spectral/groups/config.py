"""Config of `spectral/groups`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import (
    check_at_least,
    check_between,
    check_divisors,
    check_field,
    check_one_of,
)
from symscope_papers.spectral.groups.problems import CASES


@final
@dataclass(frozen=True)
class Groups:
    """Config of `spectral/groups`: the cases, and `ProblemSizes`."""

    cases: tuple[str, ...] = CASES
    seeds: int = 5
    side: int = 28
    shifts: tuple[int, int] = (14, 14)
    nodes: int = 6
    points: int = 5

    def __post_init__(self) -> None:
        check_one_of(self, CASES, "cases")
        check_at_least(self, 1, "seeds")
        check_field(self, "side", self.side in (14, 28), "14 or 28 pixels")
        check_divisors(self, self.side, "shifts", least=1)
        check_between(self, 3, 6, "nodes")  # S7 has 5040 elements
        check_between(self, 2, 6, "points")
