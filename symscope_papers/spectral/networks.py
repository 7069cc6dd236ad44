"""Fig. 1: MLP, ConvNet and ViT on rotated MNIST whose symmetry is seen only in part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import torch
from torch import nn

from symscope.data import rotation
from symscope.errors import InputError, nearest
from symscope.networks import conv_net, digit_mlp, vit
from symscope.runs import Experiment, Preset, Results, Surroundings
from symscope.training import LeftOutData, MiniBatch, Optimiser, left_out_data, train_classifiers
from symscope_papers.digits import digits
from symscope_papers.spectral import PAPER
from symscope_papers.spectral.networks_claims import network_claims
from symscope_papers.spectral.networks_figures import network_plots

BUILDERS: dict[str, Callable[[int, torch.dtype], nn.Module]] = {
    "mlp": digit_mlp,
    "conv": conv_net,
    "vit": lambda seed, dtype: vit(seed, dtype),
}
CLASSES = tuple(range(10))


@final
@dataclass(frozen=True)
class Networks:
    """Config of `spectral/networks`.

    Attributes:
        mnist: "sample", "fetched", or a folder with MNIST's files.
        networks: Which of "mlp", "conv", "vit".
        angles: Numbers of rotations.
        left_out: The digits whose upright images are left out, each in turn.
        images: Digits of each class; None for all there are.
        epochs: Passes over the points.
        batch: Points per step.
        learning_rate: Of Adam.
        betas: Of Adam.
        compiled: Fuse the steps of training with `torch.compile`.
        mixed_precision: Networks compute in bfloat16, and points are kept in it.
        together: Networks whose left-out digits are trained as one batched model, in one cell; the others
            have a cell for each digit.
        measured_points: At most so many points of each set measure accuracy.
        long_networks: Which are also trained for very long, to see whether they come to it late.
        long_angles: Number of rotations then.
        long_left_out: Left-out digits then.
        long_images: Digits of each class then; None for all.
        long_epochs: Passes then.
    """

    mnist: str = "sample"
    networks: tuple[str, ...] = ("mlp", "conv", "vit")
    angles: tuple[int, ...] = (2, 4, 8, 16, 32, 64)
    left_out: tuple[int, ...] = CLASSES
    images: int | None = None
    epochs: int = 20
    batch: int = 2048
    learning_rate: float = 1e-3
    betas: tuple[float, float] = (0.7, 0.9)
    compiled: bool = False
    mixed_precision: bool = False
    together: tuple[str, ...] = ("mlp",)
    measured_points: int = 20_000
    long_networks: tuple[str, ...] = ("mlp", "conv", "vit")
    long_angles: int = 8
    long_left_out: tuple[int, ...] = (0, 3, 7)
    long_images: int | None = 600
    long_epochs: int = 1000

    def __post_init__(self) -> None:
        for name in ("networks", "together", "long_networks"):
            for network in getattr(self, name):
                if network not in BUILDERS:
                    raise InputError(f"{name}: no network {network!r}: {nearest(network, BUILDERS)}")
        for name in ("networks", "angles", "left_out", "long_left_out"):
            values = getattr(self, name)
            if not values or len(set(values)) < len(values):
                raise InputError(f"{name}: expected different values, at least one, got {values}")
        if min(*self.angles, self.long_angles) < 2:
            raise InputError(f"angles: expected numbers from 2 on, got {self.angles} and {self.long_angles}")
        if not {*self.left_out, *self.long_left_out} <= set(CLASSES):
            raise InputError(f"left_out: expected digits 0 to 9, got {self.left_out}, {self.long_left_out}")
        for name in ("epochs", "batch", "measured_points", "long_epochs", "images", "long_images"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise InputError(f"{name}: expected at least 1, got {getattr(self, name)}")
        if self.long_epochs < self.epochs:
            raise InputError(
                f"long_epochs: expected {self.epochs}, the epochs, or more; got {self.long_epochs}"
            )


def network_cells(config: Networks) -> list[dict[str, Any]]:
    """One training each, those on the same points after each other: number of angles, network, digits."""
    digits(config.mnist)  # files that are not there are told before anything runs
    figure = [("figure", n, network, config.left_out) for n in config.angles for network in config.networks]
    long = [("long", config.long_angles, network, config.long_left_out) for network in config.long_networks]
    cells = []
    for part, n, network, labels in [*figure, *long]:
        groups = [labels] if network in config.together else [(label,) for label in labels]
        cells += [
            {"part": part, "angles": n, "network": network, "digits": ",".join(map(str, group))}
            for group in groups
        ]
    return cells


def network_cell(config: Networks, cell: Mapping[str, Any], surroundings: Surroundings) -> Results:
    """Train one network for each left-out digit of the cell; accuracy on the three sets as it goes."""
    labels = [int(word) for word in cell["digits"].split(",")]
    long = cell["part"] == "long"
    images = config.long_images if long else config.images
    dtype = torch.bfloat16 if config.mixed_precision else torch.float32
    seed, device = surroundings.run_seed, surroundings.device
    data = rotated_digits(config.mnist, images, cell["angles"], seed, dtype, device)
    epochs = config.long_epochs if long else config.epochs
    settings = MiniBatch(
        epochs,
        config.batch,
        Optimiser("adam", config.learning_rate, betas=config.betas),
        mixed_precision=config.mixed_precision,
        compiled=config.compiled,
        measured_points=config.measured_points,
        measured_every=measured_every(epochs),
    )
    builder = BUILDERS[cell["network"]]
    result = train_classifiers(
        lambda seed: builder(seed, torch.float32),
        data.points,
        data.labels,
        data.train[labels],
        {name: mask[labels] for name, mask in data.tests.items()},
        settings,
        [surroundings.seed % 2**31 + number for number in range(len(labels))],
    )
    return {
        "course": [
            {
                "left_out": label,
                "epoch": epoch,
                "loss": float(result.losses[epoch - 1, copy]),
                **{name: float(shares[at, copy]) for name, shares in result.accuracies.items()},
            }
            for copy, label in enumerate(labels)
            for at, epoch in enumerate(result.measured_at)
        ]
    }


def measured_every(epochs: int) -> int:
    """Epochs between two measurements: every one of a short training, fifty or so points of a long one.

    >>> measured_every(20), measured_every(1000)
    (1, 20)
    """
    return max(1, epochs // 50)


@lru_cache(maxsize=1)
def rotated_digits(
    mnist: str, images: int | None, angles: int, seed: int, dtype: torch.dtype, device: str
) -> LeftOutData:
    """The points of Fig. 1, with masks for every left-out digit; kept until other points are asked for.

    Trainings on the same points follow each other, and rotating 60,000 digits takes as long as some epochs.
    """
    source = digits(mnist)
    if images is not None:
        source = source.per_class(images, seed)
    return left_out_data(
        source.to(dtype=torch.float32), rotation(angles), CLASSES, seed, dtype=dtype, device=device
    )


networks_experiment = Experiment(
    id="spectral/networks",
    paper=PAPER,
    figure="Fig. 1",
    shows="Ordinary networks do not learn rotation from partial sight of it: left-out upright digits are "
    "recognised only when neighbouring angles are near.",
    config=Networks,
    presets={
        "quick": Preset(
            Networks(
                networks=("mlp", "conv"),
                angles=(2, 8, 32),
                left_out=(3, 7),
                images=10,
                batch=64,
                measured_points=1000,
                long_networks=("mlp",),
                long_left_out=(3, 7),
                long_images=5,
                long_epochs=200,
            ),
            "2 min on two cores",
        ),
        "paper": Preset(
            Networks(mnist="fetched", compiled=True, mixed_precision=True),
            "40 minutes on a GPU with three workers, in pieces of under 10; needs MNIST",
        ),
    },
    cells=network_cells,
    measure=network_cell,
    plot=network_plots,
    claims=network_claims,
)
