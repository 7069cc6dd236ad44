"""The bank's networks, as users write them: batch norm, max pool, residual blocks, attention, recurrence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from torch import Tensor, nn

from symscope.errors import InputError, nearest
from symscope.networks import NETWORKS as NAMED
from symscope.networks.architectures import seeded_weights, vit
from symscope.networks.structured import DeepSets, RowGRU

NETWORKS: dict[str, str] = {
    "mlp": "MLP 512-128",
    "cnn": "CNN with batch norm and max pool",
    "resnet": "small ResNet, global mean",
    "resnet18": "ResNet-18",
    "vit": "vision transformer",
    "allconv": "all-convolutional, global mean",
    "gru": "recurrent over rows",
    "deepsets": "DeepSets",
    "pointnet": "PointNet",
    "conv1d": "1-D convolutions, global mean",
    "message-passing": "message passing",
}
BY_NAME = ("pointnet", "conv1d", "message-passing")  # as the library has them


def bank_network(name: str, shape: Sequence[int], classes: int) -> Callable[[int], nn.Module]:
    """The builder of a network, seed to module in float64.

    Args:
        name: One of `NETWORKS`.
        shape: Shape of one input: [side, side] or [3, side, side] for images, [points, columns] for sets and
            clouds, [1, length] for series, [nodes, nodes] for graphs.
        classes: Number of outputs.

    Raises:
        InputError: An unknown name, or inputs that the network does not take.

    >>> bank_network("cnn", (8, 8), 10)(0)[-1]
    Linear(in_features=128, out_features=10, bias=True)
    """
    if name not in NETWORKS:
        raise InputError(f"network: no {name!r}: {nearest(name, NETWORKS)}")
    if name in BY_NAME:
        return NAMED[name].builder(shape, classes)
    image = len(shape) == 3 or (len(shape) == 2 and shape[0] == shape[1])
    if (name not in ("mlp", "gru", "deepsets") and not image) or (name == "deepsets" and len(shape) != 2):
        raise InputError(f"{name}: it does not take inputs of shape {tuple(shape)}.")
    series = len(shape) == 2 and shape[0] == 1
    channels, side = (shape[0] if len(shape) == 3 else 1), shape[-1]
    if name == "vit":
        patch = 4 if side % 4 == 0 and side > 8 else 2
        return lambda seed: vit(
            seed,
            side=side,
            patch=patch,
            channels=channels,
            dim=128,
            depth=4,
            heads=4,
            hidden=256,
            classes=classes,
        )
    makers: dict[str, Callable[[], nn.Module]] = {
        "mlp": lambda: _mlp(math.prod(shape), classes),
        "cnn": lambda: _cnn(channels, side, classes),
        "resnet": lambda: _resnet(channels, classes),
        "resnet18": lambda: _resnet18(channels, classes),
        "allconv": lambda: _allconv(channels, classes),
        "gru": lambda: RowGRU(1 if series else channels * side, classes, series=series),
        "deepsets": lambda: DeepSets(shape[-1], classes),
    }

    def build(seed: int) -> nn.Module:
        with seeded_weights(seed):
            return makers[name]()

    return build


def _mlp(inputs: int, classes: int) -> nn.Module:
    hidden = [nn.Linear(inputs, 512), nn.ReLU(), nn.Linear(512, 128), nn.ReLU()]
    return nn.Sequential(nn.Flatten(), *hidden, nn.Linear(128, classes))


def _cnn(channels: int, side: int, classes: int) -> nn.Module:
    parts: list[nn.Module] = []
    for before, after in ((channels, 32), (32, 64)):
        parts += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(), nn.MaxPool2d(2)]
    parts += [nn.Flatten(), nn.Linear(64 * (side // 4) ** 2, 128), nn.ReLU(), nn.Linear(128, classes)]
    return nn.Sequential(*parts)


def _allconv(channels: int, classes: int) -> nn.Module:
    parts: list[nn.Module] = []
    for before, after, stride in ((channels, 32, 1), (32, 64, 2), (64, 64, 1), (64, 128, 2)):
        parts += [nn.Conv2d(before, after, 3, stride, padding=1), nn.ReLU()]
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, classes))


def _resnet(channels: int, classes: int) -> nn.Module:
    body = [nn.Conv2d(channels, 32, 3, padding=1), Residual(32, 32, 1), Residual(32, 64, 2)]
    head = [nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes)]
    return nn.Sequential(*body, *head)


def _resnet18(channels: int, classes: int) -> nn.Module:
    """For small images: a first convolution of 3 x 3 without pooling."""
    body: list[nn.Module] = [nn.Conv2d(channels, 64, 3, padding=1, bias=False)]
    for before, after, stride in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)):
        body += [Residual(before, after, stride), Residual(after, after, 1)]
    head = [nn.BatchNorm2d(512), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes)]
    return nn.Sequential(*body, *head)


class Residual(nn.Module):
    """Two convolutions with batch norm before them, added to the input (pre-activation)."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.BatchNorm2d(before), nn.ReLU(), nn.Conv2d(before, after, 3, stride, 1, bias=False)
        )
        self.second = nn.Sequential(
            nn.BatchNorm2d(after), nn.ReLU(), nn.Conv2d(after, after, 3, 1, 1, bias=False)
        )
        same = before == after and stride == 1
        self.shortcut = nn.Identity() if same else nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.shortcut(x) + self.second(self.first(x))


def parameter_count(module: nn.Module) -> int:
    """How many weights a network has.

    >>> parameter_count(nn.Linear(2, 3))
    9
    """
    return sum(weight.numel() for weight in module.parameters())
