"""Config of `dynamics/identities`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least
from symscope_papers.dynamics.random_problems import check_groups

ROUNDING = 1e-10


@final
@dataclass(frozen=True)
class Identities:
    """Config of `dynamics/identities`: which groups, and how many random networks of each."""

    groups: tuple[str, ...] = (
        "C3",
        "C6",
        "C8",
        "D3",
        "D4",
        "D6",
        "S3",
        "S4",
        "S5",
        "C2xC2",
        "C3xC3",
        "C4xC4",
    )
    networks: int = 8

    def __post_init__(self) -> None:
        check_groups(self.groups)
        check_at_least(self, 1, "networks")
