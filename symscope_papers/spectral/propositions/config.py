"""Config of `spectral/propositions`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_between, check_divisors
from symscope_papers.spectral.wide_networks import SIDE, check_filter


@final
@dataclass(frozen=True)
class Propositions:
    """Config of `spectral/propositions`: digits, sides of the filters, positions of a shift orbit."""

    digits: int = 100
    filters: tuple[int, ...] = (3, 5, 7)
    shifts: int = 28

    def __post_init__(self) -> None:
        check_between(self, 1, 2000, "digits")
        check_divisors(self, SIDE, "shifts")
        check_between(self, 3, SIDE // 2 - 1, "filters")
        for side in self.filters:
            check_filter("fc", side)
