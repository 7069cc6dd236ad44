"""Config of `discovery/induced`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_distinct

RULES = {
    "Prop. 4.1": "A symmetry of a part inside a network with a skip connection holds in the whole.",
    "Cor. 4.2": "A symmetry of a narrow network holds in wider ones.",
    "Cor. 4.3": "A symmetry of some layers holds in deeper networks.",
    "Prop. 4.4": "A symmetry for batches of one size holds for all smaller batches.",
}


TOLERANCE = 1e-6  # relative loss drift that is still rounding of flows through finite steps


@final
@dataclass(frozen=True)
class Induced:
    """Config of `discovery/induced`: sizes of small and large networks, and how many seeds."""

    narrow: int = 2
    wide: tuple[int, ...] = (3, 5)
    depths: tuple[int, ...] = (3, 4)
    batch: int = 4
    seeds: tuple[int, ...] = (0, 1)
    points: int = 12

    def __post_init__(self) -> None:
        check_distinct(self, "seeds")
        check_at_least(self, 1, "narrow")
        check_at_least(self, self.narrow + 1, "wide")
        check_at_least(self, 3, "depths")
        check_at_least(self, 2, "batch")
