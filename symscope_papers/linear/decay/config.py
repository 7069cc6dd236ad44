"""Config of `linear/decay`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_positive


@final
@dataclass(frozen=True)
class Decay:
    """Config of `linear/decay`: how many points, runs and epochs of gradient descent."""

    points: int = 100
    runs: int = 10
    learning_rate: float = 1e-2
    epochs: int = 6000
    records: int = 200

    def __post_init__(self) -> None:
        check_at_least(self, 1, "points", "runs", "epochs")
        check_at_least(self, 4, "records")
        # stable below 2 / lambda_max of the mean squared error with features (1, x)
        check_positive(self, "learning_rate", below=1)
