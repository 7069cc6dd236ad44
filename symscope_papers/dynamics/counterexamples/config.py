"""Config of `dynamics/counterexamples`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_between
from symscope_papers.dynamics.counterexamples.problems import (
    Counterexample,
    augmented_not_nominal,
    equivariant_not_augmented,
    identical_neurons,
    one_sample,
)

EXAMPLES: Mapping[str, tuple[Callable[[int], Counterexample], str, str, str]] = {
    "U": (augmented_not_nominal, "augmented", "nominal", "App. B"),
    "V": (equivariant_not_augmented, "equivariant", "augmented", "App. B"),
    "one sample": (one_sample, "augmented", "nominal", ""),
    "identical neurons": (identical_neurons, "equivariant", "augmented", ""),
}


WORDS = {"nominal": "R", "augmented": "R_aug", "equivariant": "R_eqv"}


@final
@dataclass(frozen=True)
class Counterexamples:
    """Config of `dynamics/counterexamples`: dimensions of the spaces (samples, for identical neurons)."""

    sizes: tuple[int, ...] = (3, 4, 5, 6, 7)
    steps: int = 41

    def __post_init__(self) -> None:
        check_between(self, 3, 7, "sizes")
        check_at_least(self, 3, "steps")
