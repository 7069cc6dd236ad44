"""Config of `spectral/classes`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_between, check_distinct

CLASSES = 10


@final
@dataclass(frozen=True)
class Classes:
    """Config of `spectral/classes`.

    Attributes:
        mnist: "sample", "fetched", or a folder with MNIST's files.
        angles: Numbers of rotations.
        seeds: Digits of each class.
        trials: Data sets, each with networks of its own.
        left_out: The classes whose upright images are left out, each in turn.
        hidden: Hidden layers of the kernel's network.
        ridge: Absolute ridge, one for the paper's rule and exact regression alike.
        epochs: Epochs of the trained networks.
        batch: Points per step.
        learning_rate: Learning rate of Adam.
        betas: Decay rates of Adam's two averages.
        compiled: Fuse the steps of training with `torch.compile`.
        mixed_precision: Networks compute in bfloat16.
        together: Number of trials of one cell: their networks are trained as one batched model.
    """

    mnist: str = "sample"
    angles: tuple[int, ...] = (2, 4, 8, 16, 32, 64)
    seeds: int = 13
    trials: int = 5
    left_out: tuple[int, ...] = tuple(range(CLASSES))
    hidden: int = 2
    ridge: float = 0.0
    epochs: int = 2000
    batch: int = 512
    learning_rate: float = 1e-3
    betas: tuple[float, float] = (0.7, 0.9)
    compiled: bool = False
    mixed_precision: bool = False
    together: int = 1

    def __post_init__(self) -> None:
        check_at_least(self, 2, "angles")
        check_distinct(self, "angles")
        check_between(self, 0, CLASSES - 1, "left_out")
        check_at_least(self, 1, "seeds", "trials", "hidden", "epochs", "batch", "together")
        check_at_least(self, 0, "ridge")
