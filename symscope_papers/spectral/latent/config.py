"""Config of `spectral/latent`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from symscope_papers.config_bounds import (
    check_at_least,
    check_between,
    check_distinct,
    check_divisors,
    check_field,
    check_increasing,
    check_one_of,
    check_positive,
)
from symscope_papers.spectral.latent.objects import KINDS

NETWORKS = {"mlp": "trained MLP", "cnn": "trained ConvNet"}


@final
@dataclass(frozen=True)
class Latent:
    """Config of `spectral/latent`.

    Attributes:
        kinds: Kinds of objects, "points" or "surface".
        tilts: Degrees between the axis of turning and the line of sight; 0, a turn of the image, first.
        objects: Numbers of objects, even: half of them in each of two classes.
        poses: Number of turns n; each object is seen at n poses.
        densities: Numbers of turns at `density_objects` objects, each a divisor of the largest.
        density_objects: Number of objects where the number of turns varies.
        side: Side of the images.
        trials: Random sets of objects.
        networks: Trained networks, "mlp" or "cnn".
        trained_trials: Sets of objects that networks are trained on.
        missing_poses: Poses left out in turn for trained networks, drawn for each set; kernels lose each.
        width: Hidden units of the MLP; the ConvNet has 8 and 16 filters.
        epochs: Most full-batch steps of Adam.
        learning_rate: Step size of Adam.
        tolerance: A network is done when its mean squared error is at most this.
        ridge: Ridge of regression, as a share of the kernel's mean diagonal.
    """

    kinds: tuple[str, ...] = ("points", "surface")
    tilts: tuple[int, ...] = (0, 45, 90)
    objects: tuple[int, ...] = (2, 4, 8, 16)
    poses: int = 12
    densities: tuple[int, ...] = (6, 12, 24, 48)
    density_objects: int = 8
    side: int = 24
    trials: int = 16
    networks: tuple[str, ...] = ("mlp", "cnn")
    trained_trials: int = 8
    missing_poses: int = 1
    width: int = 128
    epochs: int = 500
    learning_rate: float = 1e-3
    tolerance: float = 1e-3
    ridge: float = 1e-6

    def __post_init__(self) -> None:
        check_one_of(self, KINDS, "kinds")
        check_one_of(self, NETWORKS, "networks")
        check_distinct(self, "kinds", "networks")
        check_between(self, 0, 90, "tilts")
        check_increasing(self, "tilts", "objects", "densities")
        check_field(self, "tilts", self.tilts[0] == 0, "0 first, the turn of the image, to compare with")
        check_field(self, "objects", not any(count % 2 for count in self.objects), "even numbers")
        check_field(self, "density_objects", self.density_objects % 2 == 0, "an even number")
        check_at_least(self, 2, "objects", "density_objects", "trials", "trained_trials", "poses")
        check_divisors(self, max(self.densities), "densities")
        check_at_least(self, 8, "side")
        check_at_least(self, 1, "width", "epochs")
        check_between(self, 1, self.poses, "missing_poses")
        check_positive(self, "ridge", "learning_rate", "tolerance")
