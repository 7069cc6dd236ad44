"""The networks of `forecast/quality`: those the forecast knows by name, deeper ones, all of them wider."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import nn

from symscope.errors import InputError
from symscope.networks.architectures import mlp, pooling_factor, seeded_weights, vit

NETWORKS: dict[str, str] = {
    "mlp-1": "MLP, 1 hidden layer",
    "mlp-2": "MLP, 2 hidden layers",
    "mlp-5": "MLP, 5 hidden layers",
    "conv-fc": "convolutions, full read-out",
    "conv-gap": "convolutions, mean over positions",
    "vit": "small vision transformer",
}
HIDDEN: dict[str, tuple[int, ...]] = {"mlp-1": (512,), "mlp-2": (512, 128), "mlp-5": (256,) * 5}


def network(name: str, shape: Sequence[int], classes: int, wider: int = 1) -> Callable[[int], nn.Module]:
    """The builder of a network, seed to module; at `wider = 1` the forecast's own where it has the name.

    Args:
        name: One of `NETWORKS`.
        shape: Shape of one input; (side, side) for all but the MLPs.
        classes: Outputs.
        wider: Factor on every hidden width.

    Raises:
        InputError: An unknown name, or a shape the network cannot take.

    >>> network("mlp-1", (2, 3), 4, wider=2)(0)[1]
    Linear(in_features=6, out_features=1024, bias=True)
    """
    if name not in NETWORKS:
        raise InputError(f"expected one of {', '.join(NETWORKS)}, got {name!r}.")
    if name in HIDDEN:
        widths = (math.prod(shape), *(width * wider for width in HIDDEN[name]), classes)
        return lambda seed: mlp(widths, seed=seed)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"{name} takes square images, got inputs of shape {tuple(shape)}.")
    side = shape[0]
    if name == "vit":
        patch = min((d for d in range(1, side + 1) if side % d == 0), key=lambda d: abs(side // d - 4))
        size = 64 * wider
        return lambda seed: vit(
            seed, side=side, patch=patch, dim=size, depth=2, heads=2, hidden=size, classes=classes
        )
    return lambda seed: _convolutions(seed, side, classes, 32 * wider, averaged=name == "conv-gap")


def _convolutions(seed: int, side: int, classes: int, channels: int, averaged: bool) -> nn.Module:
    by = pooling_factor(side, side) if averaged else 1
    second = 2 * channels if averaged else channels
    with seeded_weights(seed):
        layers: list[nn.Module] = [nn.AvgPool2d(by)] if by > 1 else []
        layers += [nn.Conv2d(1, channels, 3, padding=1), nn.ReLU()]
        layers += [nn.Conv2d(channels, second, 3, padding=1), nn.ReLU()]
        layers += [nn.AdaptiveAvgPool2d(1)] if averaged else []
        layers += [nn.Flatten(), nn.Linear(second if averaged else second * side**2, classes)]
        return nn.Sequential(*layers).to(torch.float64)
