"""Config of `discovery/exact`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_distinct

SMALL = (
    *(f"linear {s}" for s in ("1-1-1", "1-2-1", "1-3-1", "2-2-2", "2-3-2", "3-2-1", "1-2-3", "2-2-3-2")),
    *(f"ReLU {s}" for s in ("1-2-1", "2-2-2", "3-4-2", "2-3-2-2")),
    "leaky ReLU 2-3-2",
    *(f"tanh {s}" for s in ("1-2-1", "2-3-2", "2-2-2-2")),
    *(f"sigmoid {s}" for s in ("2-2-2", "3-3-1")),
    "softmax 2-2-3",
    "LayerNorm 2-3-1",
    "RMSNorm 2-3-1",
    "attention 2-2",
)
LARGE = (
    *(f"linear {s}" for s in ("1-4-1", "1-5-1", "3-3-3", "4-3-1", "2-4-3", "3-4-3", "2-2-2-2-2")),
    *(f"{a} {s}" for a in ("ReLU", "leaky ReLU", "tanh", "sigmoid") for s in ("3-5-2", "4-4-4", "2-3-3-2")),
    *("softmax 3-3-3", "softmax 2-4-4", "LayerNorm 2-4-2", "RMSNorm 2-4-1", "attention 3-2", "attention 3-3"),
)


@final
@dataclass(frozen=True)
class Exact:
    """Config of `discovery/exact`: networks by name, seeds, one wide network for the layered method."""

    networks: tuple[str, ...] = SMALL
    seeds: tuple[int, ...] = (0, 1)
    points: int = 16
    wide: str = "ReLU 10-30-30-5"

    def __post_init__(self) -> None:
        check_distinct(self, "networks", "seeds")
        check_at_least(self, 1, "points")
