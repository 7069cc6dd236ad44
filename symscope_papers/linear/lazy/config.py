"""Config of `linear/lazy`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_field, check_increasing, check_positive

PLAIN = 0.0  # in place of alpha: the network itself, trained as it is


@final
@dataclass(frozen=True)
class Lazy:
    """Config of `linear/lazy`: networks 3-width-1 on `x y + y z + z x`, all six permutations of every point.

    Attributes:
        width: Hidden units.
        orbits: Number of random points of the cube; the network sees six times as many.
        alphas: Scales of the outputs; 0 stands for ordinary training.
        networks: Number of networks, each with its own points.
        steps: Steps of full-batch gradient descent.
        stability: Learning rate over the largest stable one, 2 over the largest eigenvalue.
        held_out: Points the asymmetry is measured on.
    """

    width: int = 100
    orbits: int = 200
    alphas: tuple[float, ...] = (PLAIN, 1.0, 10.0, 100.0, 1000.0)
    networks: int = 10
    steps: int = 20_000
    stability: float = 0.5
    held_out: int = 200

    def __post_init__(self) -> None:
        check_at_least(self, 1, "width", "orbits", "networks", "steps", "held_out")
        check_increasing(self, "alphas", least=3)
        check_field(self, "alphas", self.alphas[0] == PLAIN, "0 first, then positive numbers")
        check_positive(self, "stability", below=1)
