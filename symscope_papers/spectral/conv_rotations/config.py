"""Config of `spectral/conv-rotations`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_distinct, check_field
from symscope_papers.spectral.wide_networks import check_filter


@final
@dataclass(frozen=True)
class ConvRotations:
    """Config of `spectral/conv-rotations`.

    Attributes:
        mnist: Which digits: "sample" (bundled), "fetched" (by `symscope data fetch mnist`) or a folder.
        pairs: Random pairs of digits of different classes.
        pooled_pairs: How many of them, the first ones, for networks that pool: their kernels take 800 times
            longer.
        angles: Numbers of angles n.
        filters: Sides of the filters.
        shown: The number of angles of claims and figures about one, and of the NNGP kernel.
        centred: Subtract each image's mean before it is normalised.
        relative_ridge: Ridge of kernel regression, as a share of the kernel's trace.
        spectral_ridge: Ridge of the spectral error, as a share of the kernel's trace.
    """

    mnist: str = "sample"
    pairs: int = 512
    pooled_pairs: int = 512
    angles: tuple[int, ...] = (2, 4, 8, 16, 32, 64)
    filters: tuple[int, ...] = (3, 5)
    shown: int = 8
    centred: bool = False
    relative_ridge: float = 0.0
    spectral_ridge: float = 0.0

    def __post_init__(self) -> None:
        check_at_least(self, 3, "pairs", "pooled_pairs")  # fewer cannot be correlated
        check_at_least(self, 2, "angles")
        check_at_least(self, 0, "relative_ridge", "spectral_ridge")
        check_distinct(self, "angles", "filters")
        check_field(self, "shown", self.shown in self.angles, f"one of the angles {self.angles}")
        for side in self.filters:
            check_filter("gap-apart", side)
