"""Config of `spectral/missing`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_between


@final
@dataclass(frozen=True)
class Missing:
    """Config of `spectral/missing`: how many points are missing, and how many random patterns of each.

    Attributes:
        points: Points on each circle, and angles of each digit.
        distance: Distance between the circles.
        inverse_scale: Inverse scale of the Gaussian kernel on circles.
        relative_ridge: Ridge relative to the kernel's trace.
        counts: Numbers of missing points.
        patterns: Random patterns of each number of missing points on the circles.
        mnist: Which digits: "sample" (bundled), "fetched" (by `symscope data fetch mnist`) or a folder.
        digit_pairs: Pairs of digits, each with one random pattern; none when 0.
    """

    points: int = 12
    distance: float = 1.0
    inverse_scale: float = 1.4
    relative_ridge: float = 1e-8
    counts: tuple[int, ...] = tuple(range(1, 13))
    patterns: int = 64
    mnist: str = "sample"
    digit_pairs: int = 64

    def __post_init__(self) -> None:
        check_at_least(self, 2, "points")
        check_at_least(self, 0, "relative_ridge", "digit_pairs")
        check_at_least(self, 1, "patterns")
        check_between(self, 1, 2 * self.points - 1, "counts")
