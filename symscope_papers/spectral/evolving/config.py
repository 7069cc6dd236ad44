"""Config of `spectral/evolving`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import (
    check_at_least,
    check_between,
    check_distinct,
    check_field,
    check_increasing,
    check_one_of,
    check_positive,
)
from symscope_papers.spectral.networks.config import BUILDERS, CLASSES


@final
@dataclass(frozen=True)
class Evolving:
    """Config of `spectral/evolving`.

    Attributes:
        mnist: "sample", "fetched", or a folder with MNIST's files.
        networks: Names of the networks of Fig. 1, of "mlp", "conv", "vit".
        angles: Numbers of rotations.
        classes: Digits; each start leaves out the upright images of the next of them.
        seeds: Images of each class.
        starts: Networks trained of each kind.
        epochs: Passes over the points after which the network is examined; the first is 0.
        batch: Points of a step.
        learning_rate: Learning rate of Adam.
        betas: Decay rates of Adam's two averages.
        centred: Subtract each image's mean before it is normalised.
    """

    mnist: str = "sample"
    networks: tuple[str, ...] = ("mlp", "conv", "vit")
    angles: tuple[int, ...] = (8, 32)
    classes: tuple[int, ...] = CLASSES
    seeds: int = 13
    starts: int = 10
    epochs: tuple[int, ...] = (0, 1, 5, 20, 100)
    batch: int = 128
    learning_rate: float = 1e-3
    betas: tuple[float, float] = (0.7, 0.9)
    centred: bool = False

    def __post_init__(self) -> None:
        check_one_of(self, BUILDERS, "networks")
        check_distinct(self, "networks", "angles")
        check_distinct(self, "classes", least=2)
        check_between(self, CLASSES[0], CLASSES[-1], "classes")
        check_at_least(self, 2, "angles")
        check_at_least(self, 1, "seeds", "starts", "batch")
        check_increasing(self, "epochs", least=2)
        check_field(self, "epochs", self.epochs[0] == 0, "0 first: the network before training")
        check_positive(self, "learning_rate")
