"""Config of `spectral/mlp-rotations`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_distinct, check_field


@final
@dataclass(frozen=True)
class MlpRotations:
    """Config of `spectral/mlp-rotations`.

    Attributes:
        mnist: Which digits: "sample" (bundled), "fetched" (by `symscope data fetch mnist`) or a folder.
        pairs: Random pairs of digits of different classes; the same ones for every network and angle.
        angles: Numbers of angles n.
        hidden: Numbers of hidden layers.
        shown: The number of angles of figures that show only one.
        centred: Subtract each image's mean before it is normalised.
        relative_ridge: Ridge of kernel regression, as a share of the kernel's trace.
        spectral_ridge: Ridge of the spectral error, as a share of the kernel's trace.
    """

    mnist: str = "sample"
    pairs: int = 512
    angles: tuple[int, ...] = (2, 4, 8, 16, 32, 64)
    hidden: tuple[int, ...] = (1, 5)
    shown: int = 8
    centred: bool = False
    relative_ridge: float = 0.0
    spectral_ridge: float = 0.0

    def __post_init__(self) -> None:
        check_at_least(self, 3, "pairs")  # fewer cannot be correlated
        check_at_least(self, 2, "angles")
        check_at_least(self, 1, "hidden")
        check_at_least(self, 0, "relative_ridge", "spectral_ridge")
        check_distinct(self, "angles", "hidden")
        check_field(self, "shown", self.shown in self.angles, f"one of the angles {self.angles}")
