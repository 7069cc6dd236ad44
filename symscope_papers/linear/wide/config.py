"""Config of `linear/wide`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_increasing, check_one_of, check_positive

INITIALISATIONS = ("default", "he")


@final
@dataclass(frozen=True)
class Wide:
    """Config of `linear/wide`: ReLU networks of several widths and depths on `x y + y z + z x`.

    Attributes:
        widths: Hidden units of a layer.
        depths: Numbers of hidden layers.
        initialisations: "default" (PyTorch's own) and "he" (normal, variance 2 over inputs, no biases).
        starts: Number of untrained networks whose outputs are measured.
        networks: Number of networks that are trained, each with its own points.
        orbits: Number of random points of the cube; the network sees six times as many.
        steps: Steps of full-batch gradient descent.
        stability: Learning rate over the largest stable one, 2 over the largest eigenvalue.
        held_out: Points the outputs are measured on.
    """

    widths: tuple[int, ...] = (30, 100, 300, 1000)
    depths: tuple[int, ...] = (1, 2, 3)
    initialisations: tuple[str, ...] = INITIALISATIONS
    starts: int = 300
    networks: int = 10
    orbits: int = 20
    steps: int = 500
    stability: float = 0.5
    held_out: int = 100

    def __post_init__(self) -> None:
        check_at_least(self, 1, "widths", "depths", "networks", "orbits", "steps", "held_out")
        check_at_least(self, 3, "starts")
        check_increasing(self, "widths", least=3)
        check_increasing(self, "depths")
        check_one_of(self, INITIALISATIONS, "initialisations")
        check_positive(self, "stability", below=1)
