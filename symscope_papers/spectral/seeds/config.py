"""Config of `spectral/seeds`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_distinct


@final
@dataclass(frozen=True)
class Seeds:
    """Config of `spectral/seeds`.

    Attributes:
        mnist: Which digits: "sample" (bundled), "fetched" (by `symscope data fetch mnist`) or a folder.
        seeds: Digits of each of the two classes.
        trials: Random data sets, each of two random classes; the same ones for every number of angles.
        angles: Numbers of angles n.
        hidden: Hidden layers of the network; section 3.4 speaks of two.
    """

    mnist: str = "sample"
    seeds: int = 13
    trials: int = 50
    angles: tuple[int, ...] = (2, 4, 8, 16, 32, 64)
    hidden: int = 2

    def __post_init__(self) -> None:
        check_at_least(self, 1, "seeds", "hidden")
        check_at_least(self, 3, "trials")  # fewer cannot be correlated
        check_at_least(self, 2, "angles")
        check_distinct(self, "angles")
