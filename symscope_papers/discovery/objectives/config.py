"""Config of `discovery/objectives`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least


@final
@dataclass(frozen=True)
class Objectives:
    """Config of `discovery/objectives`: random generators for the defects, steps for the comparison."""

    draws: int = 50
    steps: int = 600
    samples: int = 10_000
    points: int = 16

    def __post_init__(self) -> None:
        check_at_least(self, 1, "draws", "steps", "samples", "points")
