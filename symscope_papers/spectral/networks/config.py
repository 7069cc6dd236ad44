"""Config of `spectral/networks`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from torch import nn

from symscope.networks.architectures import conv_net, digit_mlp, vit
from symscope_papers.config_bounds import check_at_least, check_between, check_distinct, check_one_of

BUILDERS: dict[str, Callable[[int, torch.dtype], nn.Module]] = {
    "mlp": digit_mlp,
    "conv": conv_net,
    "vit": lambda seed, dtype: vit(seed, dtype),
}
CLASSES = tuple(range(10))
RULE_SEEDS, RULE_TRIALS = 13, 5  # of the rule of Sec. 3.4: digits of each class, as there, and data sets


@final
@dataclass(frozen=True)
class Networks:
    """Config of `spectral/networks`.

    Attributes:
        mnist: "sample", "fetched", or a folder with MNIST's files.
        networks: Names of networks, of "mlp", "conv", "vit".
        angles: Numbers of rotations.
        left_out: The digits whose upright images are left out, each in turn.
        images: Digits of each class; None for all there are.
        prepared: "pixels" as they are, "unit" norm of upright images, or "centred" and of unit norm.
        rotations: "spline" or "nearest" pixel.
        epochs: Passes over the points.
        batch: Points per step.
        learning_rate: Learning rate of Adam.
        betas: Decay rates of Adam's two averages.
        compiled: Fuse the steps of training with `torch.compile`.
        mixed_precision: Networks compute in bfloat16, and points are kept in it.
        together: Networks whose left-out digits are trained as one batched model, in one cell; the others
            have a cell for each digit.
        measured_points: Most points of each set that accuracy is measured on.
        long_networks: Networks that are also trained for very long, to see whether they generalise late.
        long_angles: Number of rotations in long trainings.
        long_left_out: Left-out digits in long trainings.
        long_images: Digits of each class in long trainings; None for all.
        long_epochs: Passes over the points in long trainings.
    """

    mnist: str = "sample"
    networks: tuple[str, ...] = ("mlp", "conv", "vit")
    angles: tuple[int, ...] = (2, 4, 8, 16, 32, 64)
    left_out: tuple[int, ...] = CLASSES
    images: int | None = None
    prepared: str = "pixels"
    rotations: str = "spline"
    epochs: int = 20
    batch: int = 2048
    learning_rate: float = 1e-3
    betas: tuple[float, float] = (0.7, 0.9)
    compiled: bool = False
    mixed_precision: bool = False
    together: tuple[str, ...] = ("mlp",)
    measured_points: int = 10_000
    long_networks: tuple[str, ...] = ("mlp", "conv", "vit")
    long_angles: int = 8
    long_left_out: tuple[int, ...] = (0, 3, 7)
    long_images: int | None = 600
    long_epochs: int = 1000

    def __post_init__(self) -> None:
        for field in ("networks", "together", "long_networks"):
            if getattr(self, field):
                check_one_of(self, BUILDERS, field)
        check_one_of(self, ("pixels", "unit", "centred"), "prepared")
        check_one_of(self, ("spline", "nearest"), "rotations")
        check_distinct(self, "networks", "angles", "left_out", "long_left_out")
        check_at_least(self, 2, "angles", "long_angles")
        check_between(self, CLASSES[0], CLASSES[-1], "left_out", "long_left_out")
        check_at_least(self, 1, "epochs", "batch", "measured_points", "images", "long_images")
        check_at_least(self, self.epochs, "long_epochs")
