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
from symscope.networks.structured import DeepSets, MessagePassing, PointNet, RowGRU

SeededBuilder = Callable[[int], nn.Module]
IMAGES = "images, (height, width) or (channels, height, width)"
LARGEST_SQUARE_SET = 4  # points with as many columns; a larger square is an image or a graph


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
        shape: Shape of one input: (height, width) or (channels, height, width) for images, (channels, length)
            for series, (points, columns) for clouds and sets, (nodes, nodes) for graphs; any for "mlp".
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
    return NETWORKS[name].builder(tuple(shape), classes)


def _mlp(shape: Sequence[int], classes: int) -> SeededBuilder:
    widths = (math.prod(shape), 512, 128, classes)
    return lambda seed: mlp(widths, seed=seed)


def _misfit(name: str, takes: str, shape: Sequence[int], instead: str) -> InputError:
    return InputError(
        f"the network {name} takes {takes}; got inputs of shape {tuple(shape)}. Use {instead}, or a network "
        "of your own."
    )


def _seeded(make: Callable[[], nn.Module]) -> SeededBuilder:
    """A function of a seed that makes a network with weights drawn from it, in float64."""

    def build(seed: int) -> nn.Module:
        with seeded_weights(seed):
            return make().to(torch.float64)

    return build


def _image(name: str, shape: Sequence[int]) -> tuple[int, int, int]:
    if len(shape) not in (2, 3):
        raise _misfit(name, IMAGES, shape, "mlp")
    if len(shape) == 2 and shape[1] in (2, 3) and shape[0] > shape[1]:
        raise _misfit(name, IMAGES, shape, "deepsets or pointnet for clouds, mlp")
    channels, height, width = (1, *shape) if len(shape) == 2 else shape
    return channels, height, width


def _conv_fc(shape: Sequence[int], classes: int) -> SeededBuilder:
    channels, height, width = _image("conv-fc", shape)
    return _seeded(
        lambda: nn.Sequential(
            nn.Conv2d(channels, 32, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * height * width, classes),
        )
    )


def _conv_gap(shape: Sequence[int], classes: int) -> SeededBuilder:
    channels, height, width = _image("conv-gap", shape)
    by = pooling_factor(height, width)
    return _seeded(
        lambda: nn.Sequential(
            *([nn.AvgPool2d(by)] if by > 1 else []),
            nn.Conv2d(channels, 32, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(64, classes),
        )
    )


def _vit(shape: Sequence[int], classes: int) -> SeededBuilder:
    channels, height, width = _image("vit", shape)
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


def _rows(name: str, shape: Sequence[int]) -> int:
    """Columns of clouds and sets; a large square is an image or a graph."""
    if len(shape) != 2 or (shape[0] == shape[1] > LARGEST_SQUARE_SET):
        raise _misfit(name, "clouds and sets, (points, columns)", shape, "mlp")
    return shape[1]


def _deepsets(shape: Sequence[int], classes: int) -> SeededBuilder:
    columns = _rows("deepsets", shape)
    return _seeded(lambda: DeepSets(columns, classes))


def _pointnet(shape: Sequence[int], classes: int) -> SeededBuilder:
    columns = _rows("pointnet", shape)
    return _seeded(lambda: PointNet(columns, classes))


def _message_passing(shape: Sequence[int], classes: int) -> SeededBuilder:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise _misfit(
            "message-passing", "graphs, adjacency matrices (nodes, nodes)", shape, "mlp or deepsets"
        )
    return _seeded(lambda: MessagePassing(shape[0], classes))


def _series(name: str, shape: Sequence[int]) -> tuple[int, int]:
    """Channels and length of series, the shorter axis first."""
    if len(shape) != 2 or shape[0] >= shape[1]:
        raise _misfit(name, "series, (channels, length)", shape, "mlp; for one channel X[:, None]")
    return shape[0], shape[1]


def _gru(shape: Sequence[int], classes: int) -> SeededBuilder:
    if len(shape) == 3 or (len(shape) == 2 and shape[0] == shape[1]):  # images, row by row
        channels, _, width = _image("gru", shape)
        return _seeded(lambda: RowGRU(channels * width, classes))
    channels, _ = _series("gru", shape)
    return _seeded(lambda: RowGRU(channels, classes, series=True))


def _conv1d(shape: Sequence[int], classes: int) -> SeededBuilder:
    channels, _ = _series("conv1d", shape)
    return _seeded(
        lambda: nn.Sequential(
            nn.Conv1d(channels, 32, 5, padding=2),
            nn.ReLU(),
            nn.Conv1d(32, 64, 5, padding=2),
            nn.ReLU(),
            nn.AdaptiveAvgPool1d(1),
            nn.Flatten(),
            nn.Linear(64, classes),
        )
    )


NETWORKS: dict[str, NamedNetwork] = {
    "mlp": NamedNetwork(
        "any samples: two hidden layers of 512 and 128 units, every number connected to every unit", _mlp
    ),
    "conv-fc": NamedNetwork(
        "images: two 3x3 convolutions of 32 channels, then every position has weights of its own", _conv_fc
    ),
    "conv-gap": NamedNetwork(
        "images, averaged down to 16 pixels or fewer, two 3x3 convolutions, mean over all positions",
        _conv_gap,
    ),
    "vit": NamedNetwork(
        "images: a small vision transformer, about 4 x 4 patches, two blocks of attention, mean over patches",
        _vit,
    ),
    "deepsets": NamedNetwork(
        "clouds and sets: the same two layers for every point, their mean, two layers on it", _deepsets
    ),
    "pointnet": NamedNetwork(
        "clouds and sets: the same two layers for every point, their maximum, two layers on it", _pointnet
    ),
    "message-passing": NamedNetwork(
        "graphs: three rounds of messages between neighbours, mean over nodes, two layers on it",
        _message_passing,
    ),
    "conv1d": NamedNetwork("series: two convolutions of 5 moments, mean over all moments", _conv1d),
    "gru": NamedNetwork("series moment by moment, images row by row: a GRU of 128 states", _gru),
}
