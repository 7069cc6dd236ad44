"""Config of `spectral/own-kernels`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_distinct, check_one_of
from symscope_papers.spectral.networks.config import BUILDERS


@final
@dataclass(frozen=True)
class OwnKernels:
    """Config of `spectral/own-kernels`.

    Attributes:
        mnist: "sample", "fetched", or a folder with MNIST's files.
        networks: Names of the networks of Fig. 1, of "mlp", "conv", "vit".
        angles: Numbers of rotations; those by 90 degrees only move pixels.
        pairs: Random pairs of digits of different classes.
        starts: Initialisations.
        centred: Subtract each image's mean before it is normalised.
    """

    mnist: str = "sample"
    networks: tuple[str, ...] = ("mlp", "conv", "vit")
    angles: tuple[int, ...] = (4, 8)
    pairs: int = 16
    starts: int = 16
    centred: bool = False

    def __post_init__(self) -> None:
        check_one_of(self, BUILDERS, "networks")
        check_distinct(self, "networks", "angles")
        check_at_least(self, 2, "angles", "pairs", "starts")
