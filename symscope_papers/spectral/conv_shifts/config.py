"""Config of `spectral/conv-shifts`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_between, check_divisors, check_field
from symscope_papers.spectral.wide_networks import SIDE, check_filter


@final
@dataclass(frozen=True)
class ConvShifts:
    """Config of `spectral/conv-shifts`.

    Attributes:
        mnist: Which digits: "sample" (bundled), "fetched" (by `symscope data fetch mnist`) or a folder.
        pairs: Random pairs of digits of different classes.
        angles: Numbers n of positions of an orbit, divisors of 28.
        filter: Side of the filters.
        dense: How many of the pairs are solved by dense regression over a whole kernel matrix as well.
        shown: The number of positions of figures about one, and of the NNGP kernel.
        centred: Subtract each image's mean before it is normalised.
    """

    mnist: str = "sample"
    pairs: int = 512
    angles: tuple[int, ...] = (2, 4, 7, 14, 28)
    filter: int = 3
    dense: int = 64
    shown: int = 14
    centred: bool = False

    def __post_init__(self) -> None:
        check_filter("gap", self.filter)
        check_at_least(self, 3, "pairs")  # fewer cannot be correlated
        check_between(self, 1, self.pairs, "dense")
        check_divisors(self, SIDE, "angles")
        check_field(self, "shown", self.shown in self.angles, f"one of {self.angles}")
