"""Config of `linear/shear`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_distinct, check_field


@final
@dataclass(frozen=True)
class Shear:
    """Config of `linear/shear`: how strongly the elements shear, and how many translations stand for all."""

    points: int = 50
    shears: tuple[float, ...] = (0.0, 0.1, 0.25, 0.5, 1.0)
    translations: int = 9
    learning_rate: float = 1e-2
    epochs: int = 3000
    records: int = 100

    def __post_init__(self) -> None:
        check_at_least(self, 0, "shears")
        check_distinct(self, "shears", least=2)
        check_field(self, "shears", 0.0 in self.shears, "0, for comparison, among them")
        check_at_least(self, 3, "translations")
        check_field(self, "translations", self.translations % 2 == 1, "an odd number")
        check_at_least(self, 2, "points", "records")
        check_at_least(self, 1, "epochs")
