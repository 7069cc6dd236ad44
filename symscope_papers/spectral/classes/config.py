"""Config of `spectral/classes`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import check_at_least, check_between, check_distinct, check_one_of
from symscope_papers.spectral.wide_networks import MLPS

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
        network: The kernel's network: "app-b3", that of App. B.3, or "mlp-1" .. for so many hidden layers.
        centred: Subtract each image's mean before it is normalised.
        ridge: Absolute ridge of exact regression.
        rule_ridge: Absolute ridge of the paper's rule.
        weights: "pytorch", PyTorch's own, or "scripts", those of the authors' scripts.
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
    network: str = "app-b3"
    centred: bool = False
    ridge: float = 0.0
    rule_ridge: float = 0.0
    weights: str = "pytorch"
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
        check_at_least(self, 1, "seeds", "trials", "epochs", "batch", "together")
        check_at_least(self, 0, "ridge", "rule_ridge")
        check_one_of(self, ("app-b3", *MLPS), "network")
        check_one_of(self, ("pytorch", "scripts"), "weights")
