"""Config of `linear/noise`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_distinct

KINDS = ("orbit", "point")


@final
@dataclass(frozen=True)
class Noise:
    """Config of `linear/noise`: standard deviations of the noise on the labels."""

    points: int = 100
    sigmas: tuple[float, ...] = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
    learning_rate: float = 1e-2
    epochs: int = 5000
    records: int = 150

    def __post_init__(self) -> None:
        check_at_least(self, 1, "points", "epochs")
        check_at_least(self, 4, "records")
        check_at_least(self, 0, "sigmas")
        check_distinct(self, "sigmas", least=2)
