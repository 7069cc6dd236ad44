"""Config of `spectral/seeds`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_distinct, check_field, check_one_of
from symscope_papers.spectral.wide_networks import MLPS


@final
@dataclass(frozen=True)
class Seeds:
    """Config of `spectral/seeds`.

    Attributes:
        mnist: Which digits: "sample" (bundled), "fetched" (by `symscope data fetch mnist`) or a folder.
        seeds: Digits of each of the two classes.
        trials: Random data sets, each of two random classes; the same ones for every number of angles.
        angles: Numbers of angles n.
        network: "app-b3", the network of App. B.3, or "mlp-1" .. for an MLP of so many hidden layers.
        shown: The number of angles of Fig. 6A.
        centred: Subtract each image's mean before it is normalised.
        ridge: Ridge of regression, an absolute number.
        spectral_ridge: Ridge of the spectral error, as a share of the trace of a pair's kernel.
    """

    mnist: str = "sample"
    seeds: int = 13
    trials: int = 50
    angles: tuple[int, ...] = (2, 4, 8, 16, 32, 64)
    network: str = "app-b3"
    shown: int = 8
    centred: bool = False
    ridge: float = 0.0
    spectral_ridge: float = 0.0

    def __post_init__(self) -> None:
        check_at_least(self, 1, "seeds")
        check_at_least(self, 0, "ridge", "spectral_ridge")
        check_one_of(self, ("app-b3", *MLPS), "network")
        check_at_least(self, 3, "trials")  # fewer cannot be correlated
        check_at_least(self, 2, "angles")
        check_distinct(self, "angles")
        check_field(self, "shown", self.shown in self.angles, f"one of the angles {self.angles}")
