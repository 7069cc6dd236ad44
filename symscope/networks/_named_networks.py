"""The networks a forecast knows by name, made for the data at hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import nn

from symscope.errors import InputError, nearest
from symscope.networks._architectures import mlp, vit
from symscope.networks._initialisation import seeded_weights

NETWORKS: dict[str, str] = {
    "mlp": "two hidden layers of 512 and 128 units, every pixel connected to every unit",
    "conv-fc": "two 3x3 convolutions of 32 channels, then every position has weights of its own",
    "conv-gap": "images averaged down to 16 pixels or fewer, two 3x3 convolutions, mean over all positions",
    "vit": "a small vision transformer: about 4 x 4 patches, two blocks of attention, mean over patches",
}
LARGEST_POOLED = 16  # the mean over positions costs side^4 for a pair of images


def named_network(name: str, shape: Sequence[int], classes: int) -> Callable[[int], nn.Module]:
    """The builder of a named network, seed to module, for samples of a shape.

    Args:
        name: One of `NETWORKS`.
        shape: Shape of one input: (height, width) or (channels, height, width); any shape for "mlp".
        classes: Outputs.

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
    if name == "mlp":
        widths = (math.prod(shape), 512, 128, classes)
        return lambda seed: mlp(widths, seed=seed)
    if len(shape) not in (2, 3):
        raise InputError(
            f"the network {name} takes images, (height, width) or (channels, height, width); got inputs of "
            f"shape {tuple(shape)}. Use mlp, or a network of your own."
        )
    channels, height, width = (1, *shape) if len(shape) == 2 else shape
    if name == "vit":
        return _vit(channels, height, width, classes)
    convolutions = _conv_fc if name == "conv-fc" else _conv_gap
    return lambda seed: convolutions(seed, channels, height, width, classes)


def _conv_fc(seed: int, channels: int, height: int, width: int, classes: int) -> nn.Module:
    with seeded_weights(seed):
        return nn.Sequential(
            nn.Conv2d(channels, 32, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * height * width, classes),
        ).to(torch.float64)


def _conv_gap(seed: int, channels: int, height: int, width: int, classes: int) -> nn.Module:
    by = pooling(height, width)
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


def pooling(height: int, width: int) -> int:
    """The smallest divisor of both sides that brings them to 16 or fewer; 1 where there is none.

    >>> pooling(28, 28), pooling(10, 10), pooling(17, 17)
    (2, 1, 1)
    """
    if max(height, width) <= LARGEST_POOLED:
        return 1
    fits = [by for by in range(2, max(height, width) + 1) if height % by == 0 and width % by == 0]
    return next((by for by in fits if max(height, width) // by <= LARGEST_POOLED and by < height), 1)


def _vit(channels: int, height: int, width: int, classes: int) -> Callable[[int], nn.Module]:
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
