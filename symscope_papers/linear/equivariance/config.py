"""Config of `linear/equivariance`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least

KINDS = ("nothing", "asymmetric", "symmetric")
SYMMETRIC = ("(w11 + w22) / 2", "(w12 + w21) / 2")
ASYMMETRIC = ("(w11 - w22) / 2", "(w12 - w21) / 2")


@final
@dataclass(frozen=True)
class Equivariance:
    """Config of `linear/equivariance`: 2 x 2 weights trained on labels that swap with the features."""

    points: int = 100
    runs: int = 10
    learning_rate: float = 1e-2
    epochs: int = 6000
    records: int = 200

    def __post_init__(self) -> None:
        check_at_least(self, 2, "points", "runs")
        check_at_least(self, 1, "epochs")
        check_at_least(self, 4, "records")
