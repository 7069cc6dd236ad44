"""Config of `spectral/missing`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_between


@final
@dataclass(frozen=True)
class Missing:
    """Config of `spectral/missing`: how many points are missing, and how many random patterns of each."""

    points: int = 12
    distance: float = 1.0
    inverse_scale: float = 1.4
    relative_ridge: float = 1e-8
    counts: tuple[int, ...] = tuple(range(1, 13))
    patterns: int = 64

    def __post_init__(self) -> None:
        check_at_least(self, 2, "points")
        check_at_least(self, 0, "relative_ridge")
        check_at_least(self, 1, "patterns")
        check_between(self, 1, 2 * self.points - 1, "counts")
