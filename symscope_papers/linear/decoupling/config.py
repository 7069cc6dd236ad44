"""Config of `linear/decoupling`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least

KINDS = ("asymmetric", "symmetric")


@final
@dataclass(frozen=True)
class Decoupling:
    """Config of `linear/decoupling`: runs that share one part of their start."""

    points: int = 100
    runs: int = 10
    learning_rate: float = 1e-2
    epochs: int = 1000
    records: int = 100

    def __post_init__(self) -> None:
        check_at_least(self, 1, "points", "epochs")
        check_at_least(self, 2, "runs", "records")
