"""Config of `linear/few-points`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_field


@final
@dataclass(frozen=True)
class FewPoints:
    """Config of `linear/few-points`: how many points, samples of them, and label noise."""

    points: int = 20
    samples: int = 10
    sigmas: tuple[float, ...] = (0.0,)
    learning_rate: float = 1e-2
    epochs: int = 10_000
    records: int = 200

    def __post_init__(self) -> None:
        check_at_least(self, 2, "points")
        check_at_least(self, 1, "samples", "epochs")
        check_at_least(self, 8, "records")
        check_at_least(self, 0, "sigmas")
        check_field(self, "sigmas", 0.0 in self.sigmas, "0, the paper's noise level, among them")
