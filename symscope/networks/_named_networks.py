"""The networks a forecast knows by name, made for the data at hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import torch
from torch import nn

from symscope.errors import InputError, nearest
from symscope.networks.architectures import mlp, pooling_factor, seeded_weights, vit

SeededBuilder = Callable[[int], nn.Module]


@final
@dataclass(frozen=True)
class NamedNetwork:
    """An architecture that fits itself to the data.

    Attributes:
        description: One line about the architecture.
        builder: Function of an input's shape and the number of outputs that gives a function of a seed.
    """

    description: str
    builder: Callable[[Sequence[int], int], SeededBuilder]


def named_network(name: str, shape: Sequence[int], classes: int) -> SeededBuilder:
    """The builder of a named network, seed to module, for samples of a shape.

    Args:
        name: One of `NETWORKS`.
        shape: Shape of one input: (height, width) or (channels, height, width); any shape for "mlp".
        classes: Number of outputs.

    Raises:
        InputError: An unknown name, or a shape the network cannot take.

    >>> named_network("mlp", (4, 4), 3)(0)[-1]
    Linear(in_features=128, out_features=3, bias=True)
    """
    if name not in NETWORKS:
        raise InputError(
            f"expected the name of a network ({', '.join(NETWORKS)}) or a function that builds one, got "
            f"{name!r}; {nearest(name, NETWORKS)}"
        )
    if name != "mlp" and len(shape) not in (2, 3):
        raise InputError(
            f"the network {name} takes images, (height, width) or (channels, height, width); got inputs of "
            f"shape {tuple(shape)}. Use mlp, or a network of your own."
        )
    return NETWORKS[name].builder(shape, classes)


def _mlp(shape: Sequence[int], classes: int) -> SeededBuilder:
    widths = (math.prod(shape), 512, 128, classes)
    return lambda seed: mlp(widths, seed=seed)


def _image(shape: Sequence[int]) -> tuple[int, int, int]:
    channels, height, width = (1, *shape) if len(shape) == 2 else shape
    return channels, height, width


def _conv_fc(shape: Sequence[int], classes: int) -> SeededBuilder:
    channels, height, width = _image(shape)

    def build(seed: int) -> nn.Module:
        with seeded_weights(seed):
            return nn.Sequential(
                nn.Conv2d(channels, 32, 3, padding=1),
                nn.ReLU(),
                nn.Conv2d(32, 32, 3, padding=1),
                nn.ReLU(),
                nn.Flatten(),
                nn.Linear(32 * height * width, classes),
            ).to(torch.float64)

    return build


def _conv_gap(shape: Sequence[int], classes: int) -> SeededBuilder:
    channels, height, width = _image(shape)
    by = pooling_factor(height, width)

    def build(seed: int) -> nn.Module:
        with seeded_weights(seed):
            return nn.Sequential(
                *([nn.AvgPool2d(by)] if by > 1 else []),
                nn.Conv2d(channels, 32, 3, padding=1),
                nn.ReLU(),
                nn.Conv2d(32, 64, 3, padding=1),
                nn.ReLU(),
                nn.AdaptiveAvgPool2d(1),
                nn.Flatten(),
                nn.Linear(64, classes),
            ).to(torch.float64)

    return build


def _vit(shape: Sequence[int], classes: int) -> SeededBuilder:
    channels, height, width = _image(shape)
    if height != width:
        raise InputError(f"the network vit takes square images, got {height} x {width}; pad or crop them.")
    divisors = [d for d in range(1, height + 1) if height % d == 0]
    patch = min(divisors, key=lambda d: abs(height // d - 4))
    return lambda seed: vit(
        seed,
        side=height,
        patch=patch,
        channels=channels,
        dim=64,
        depth=2,
        heads=2,
        hidden=64,
        classes=classes,
    )


NETWORKS: dict[str, NamedNetwork] = {
    "mlp": NamedNetwork("two hidden layers of 512 and 128 units, every pixel connected to every unit", _mlp),
    "conv-fc": NamedNetwork(
        "two 3x3 convolutions of 32 channels, then every position has weights of its own", _conv_fc
    ),
    "conv-gap": NamedNetwork(
        "images averaged down to 16 pixels or fewer, two 3x3 convolutions, mean over all positions", _conv_gap
    ),
    "vit": NamedNetwork(
        "a small vision transformer: about 4 x 4 patches, two blocks of attention, mean over patches", _vit
    ),
}
