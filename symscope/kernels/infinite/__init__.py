"""Kernels of infinitely wide networks: from a module to operations, and covariances through them.

`symscope.kernels.infinite_width` does all of it. Those who have no module, or want to look inside, find here
the graph of operations (`infinite_width(net).network` is one) and the kernels of a graph made by hand.
"""

from symscope.kernels.infinite._infinite_width import InfiniteWidth, wide_network_kernels
from symscope.kernels.infinite._operations import (
    Activate,
    AdaptivePool,
    Affine,
    Conv,
    Dense,
    Flatten,
    GlobalPool,
    Input,
    LayerWeights,
    Node,
    Normalise,
    Pad,
    Pool,
    Scale,
    Sum,
    Unflatten,
)
from symscope.kernels.infinite._sliding_windows import Window
from symscope.kernels.infinite._wide_network import WideNetwork

__all__ = [
    "Activate",
    "AdaptivePool",
    "Affine",
    "Conv",
    "Dense",
    "Flatten",
    "GlobalPool",
    "InfiniteWidth",
    "Input",
    "LayerWeights",
    "Node",
    "Normalise",
    "Pad",
    "Pool",
    "Scale",
    "Sum",
    "Unflatten",
    "WideNetwork",
    "Window",
    "wide_network_kernels",
]
