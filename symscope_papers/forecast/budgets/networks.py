"""The networks of `forecast/budgets`, none of which the bank has."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import nn

from symscope.errors import InputError, nearest
from symscope.networks.architectures import seeded_weights
from symscope_papers.forecast.budgets.image_networks import Mixer, group_cnn, group_resnet, lenet, separable
from symscope_papers.forecast.budgets.row_networks import (
    ClassToken,
    RowLSTM,
    TemporalConvolutions,
    deep_mlp,
    dropout_mlp,
    tanh_mlp,
)
from symscope_papers.forecast.budgets.set_networks import (
    EdgeConvolutions,
    MaxGraphNetwork,
    SetMax,
    SetTransformer,
)

NETWORKS: dict[str, str] = {
    "group-cnn": "CNN with group norm",
    "lenet": "LeNet",
    "separable": "depthwise-separable convolutions, batch norm",
    "group-resnet": "ResNet with group norm",
    "mixer": "MLP-mixer",
    "class-token": "transformer with a class token",
    "lstm": "LSTM over rows",
    "tcn": "temporal convolutions",
    "dropout-mlp": "MLP with dropout",
    "tanh-mlp": "MLP with tanh",
    "deep-mlp": "deep MLP with batch norm",
    "set-transformer": "set transformer",
    "set-max": "maximum over points, batch norm",
    "edge-conv": "edge convolutions",
    "max-gnn": "graph network, largest messages",
}
KINDS = {
    **dict.fromkeys(("group-cnn", "lenet", "separable", "group-resnet", "mixer"), ("image",)),
    **dict.fromkeys(("dropout-mlp", "tanh-mlp", "deep-mlp"), ("image", "series", "points")),
    **dict.fromkeys(("set-transformer", "set-max", "edge-conv"), ("points",)),
    "class-token": ("image", "series"),
    "lstm": ("image", "series"),
    "tcn": ("series",),
    "max-gnn": ("image",),
}


def user_network(name: str, shape: tuple[int, ...], classes: int) -> Callable[[int], nn.Module]:
    """The builder of a network, seed to module, as a user would hand it to `forecast`.

    Args:
        name: One of `NETWORKS`.
        shape: Shape of one input: [side, side] for images and graphs, [channels, length] for series,
            [points, columns] for sets and clouds.
        classes: Number of outputs.

    Raises:
        InputError: An unknown name, or inputs that the network does not take.

    >>> user_network("tanh-mlp", (8, 8), 10)(0)[-1]
    Linear(in_features=512, out_features=10, bias=True)
    """
    if name not in NETWORKS:
        raise InputError(f"network: no {name!r}: {nearest(name, NETWORKS)}")
    height, width = shape
    kind = "image" if height == width else "series" if height < width else "points"
    if kind not in KINDS[name]:
        raise InputError(f"{name}: it does not take inputs of shape {tuple(shape)}.")
    inputs = math.prod(shape)
    makers: dict[str, Callable[[], nn.Module]] = {
        "group-cnn": lambda: group_cnn(1, width, classes),
        "lenet": lambda: lenet(1, width, classes),
        "separable": lambda: separable(1, classes),
        "group-resnet": lambda: group_resnet(1, classes),
        "mixer": lambda: Mixer(1, width, classes),
        "class-token": lambda: ClassToken(height, width, classes),
        "lstm": lambda: RowLSTM(height if kind == "series" else width, classes, kind == "series"),
        "tcn": lambda: TemporalConvolutions(height, classes),
        "dropout-mlp": lambda: dropout_mlp(inputs, classes),
        "tanh-mlp": lambda: tanh_mlp(inputs, classes),
        "deep-mlp": lambda: deep_mlp(inputs, classes),
        "set-transformer": lambda: SetTransformer(width, classes),
        "set-max": lambda: SetMax(width, classes),
        "edge-conv": lambda: EdgeConvolutions(width, classes),
        "max-gnn": lambda: MaxGraphNetwork(width, classes),
    }

    def build(seed: int) -> nn.Module:
        with seeded_weights(seed):
            return makers[name]()

    return build
