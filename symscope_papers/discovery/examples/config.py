"""Config of `discovery/examples`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_distinct, check_positive


@final
@dataclass(frozen=True)
class Examples:
    """Config of `discovery/examples`.

    Attributes:
        degrees: Degrees of homogeneity c.
        seeds: Seeds of parameters and data.
        draws: Random parameters of a ReLU network whose directions are counted.
        batch: Number of samples in a batch.
    """

    degrees: tuple[float, ...] = (0.5, 1.0, 2.0, 3.0)
    seeds: tuple[int, ...] = (0, 1)
    draws: int = 40
    batch: int = 16

    def __post_init__(self) -> None:
        check_distinct(self, "seeds", "degrees")
        check_positive(self, "degrees")
        check_at_least(self, 1, "draws")
        check_at_least(self, 2, "batch")
