"""Config of `discovery/number`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_distinct, check_increasing, check_one_of
from symscope_papers.discovery.exact.networks import family_and_sizes

DATA = ("normal", "closed under the swap", "kept by the swap")


@final
@dataclass(frozen=True)
class Number:
    """Config of `discovery/number`.

    Attributes:
        networks: Networks by name with two inputs, see `discovery/exact`.
        data: Kinds of inputs: "normal"; "closed under the swap", each input beside the one with its two
            numbers exchanged; "kept by the swap", two equal numbers.
        seeds: Seeds of parameters and data.
        steps: Steps of training at which symmetries are counted, increasing from 0.
        samples: Number of training samples.
        learning_rate: Learning rate of gradient descent on the mean loss.
    """

    networks: tuple[str, ...] = ("linear 2-3-1", "ReLU 2-3-1", "tanh 2-3-1", "sigmoid 2-3-1")
    data: tuple[str, ...] = DATA
    seeds: tuple[int, ...] = (0, 1)
    steps: tuple[int, ...] = (0, 10, 100)
    samples: int = 64
    learning_rate: float = 0.05

    def __post_init__(self) -> None:
        for name in self.networks:
            family_and_sizes(name)
        check_distinct(self, "networks", "data", "seeds")
        check_one_of(self, DATA, "data")
        check_increasing(self, "steps")
        check_at_least(self, 0, "steps")
        check_at_least(self, 2, "samples")
