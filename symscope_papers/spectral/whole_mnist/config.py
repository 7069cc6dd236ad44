"""Config of `spectral/whole-mnist`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope.numerics import byte_count
from symscope_papers.config_bounds import check_at_least, check_distinct

FREE = "free"


@final
@dataclass(frozen=True)
class WholeMnist:
    """Config of `spectral/whole-mnist`.

    Attributes:
        mnist: "sample", "fetched", or a folder with MNIST's files.
        seeds: Digits of each class.
        angles: Numbers of rotations for each of these.
        whole_angles: Numbers of rotations for all digits there are; none leaves it out.
        hidden: Hidden layers of the kernel's network.
        ridge: Absolute ridge.
        memory: Memory that may be used, as text ("2GB"), or "free" for what a GPU has left.
        check_seeds: Digits of each class on which the answer is compared with dense regression.
        check_angles: Number of rotations of that comparison.
    """

    mnist: str = "sample"
    seeds: tuple[int, ...] = (13, 100, 1000)
    angles: tuple[int, ...] = (2, 4, 8, 16, 32, 64)
    whole_angles: tuple[int, ...] = (64,)
    hidden: int = 2
    ridge: float = 0.0
    memory: str = FREE
    check_seeds: int = 20
    check_angles: int = 64

    def __post_init__(self) -> None:
        check_distinct(self, "seeds", "angles")
        check_at_least(self, 2, "angles", "check_angles", *(["whole_angles"] if self.whole_angles else []))
        check_at_least(self, 1, "seeds", "hidden", "check_seeds")
        check_at_least(self, 0, "ridge")
        if self.memory != FREE:
            byte_count(self.memory)
