"""Settings of pairs of orbits that the paper leaves open, and what the authors' scripts do."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from symscope.networks.architectures import ScaledLinear
from symscope.numerics import seeded

AUTHORS: dict[str, Any] = {"centred": True, "relative_ridge": 1e-10, "spectral_ridge": 1e-5}
UNSTATED = (
    "The paper states neither the number of pairs nor the interpolation of rotations: 512 random pairs and "
    "cubic splines are those of the authors' scripts; their pairs cannot be drawn again.",
)
SCRIPTS = (
    *UNSTATED,
    "The scripts subtract each image's mean before they normalise it; the paper only puts images on the "
    "sphere.",
    "The scripts add 1e-5 of the trace in the spectral error and 1e-10 of it in regression; the paper's "
    "formulas "
    "have no ridge.",
    "The scripts compute in float32, this run in float64.",
)


def scripts_weights(net: nn.Sequential, seed: int) -> nn.Sequential:
    """The same network with weights and biases uniform in ±1 / sqrt(outputs), as the scripts draw them.

    The scripts mean Kaiming's rule, whose bound is 1 / sqrt(inputs), but take the wrong axis.

    Args:
        net: A network of `ScaledLinear` layers; its weights are replaced.
        seed: Seed for drawing the weights.

    >>> layers = [ScaledLinear(3, 4, 1.0, 1.0), ScaledLinear(4, 1, 1.0, 1.0)]
    >>> net = scripts_weights(nn.Sequential(*layers), seed=0)
    >>> largest = [float(layer.weight.detach().abs().max()) for layer in net]
    >>> largest[0] <= 0.5 < largest[1] <= 1
    True
    """
    generator = seeded(seed)
    with torch.no_grad():
        for layer in net:
            if isinstance(layer, ScaledLinear):
                bound = len(layer.bias) ** -0.5
                for weight in (layer.weight, layer.bias):
                    weight.uniform_(-bound, bound, generator=generator)
    return net
