"""Our side of the run: a module, its infinite-width NTK, a Gram."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

import symscope
from benchmarks.protocol import serve
from symscope.kernels import gram, infinite_width


def module(job: dict[str, Any]) -> nn.Module:
    """The network of a case as a user would write it; widths do not matter."""
    layers: list[nn.Module] = []
    for layer in range(job["conv"]):
        channels = 1 if layer == 0 else 4
        layers += [nn.Conv2d(channels, 4, 3, padding=1, padding_mode="circular", bias=False), nn.ReLU()]
    if job["readout"] == "gap":
        layers.append(nn.AdaptiveAvgPool2d(1))
    if job["conv"]:
        layers.append(nn.Flatten())
    features = job["side"] ** 2 * (4 if job["conv"] else 1) if job["readout"] == "fc" else 4
    for _ in range(job["dense"]):
        layers += [nn.Linear(features, 4), nn.ReLU()]
        features = 4
    return nn.Sequential(*layers, nn.Linear(features, 1, bias=job["conv"] == 0))


def prepare(job: dict[str, Any], x: np.ndarray) -> Callable[[], torch.Tensor]:
    """A function that computes the Gram of a case in its dtype."""
    kernel = infinite_width(module(job), w_std=1.0, b_std=1.0).ntk
    images = torch.from_numpy(x if job["conv"] else x.reshape(len(x), -1))
    dtype = torch.float64 if job["dtype"] == "float64" else torch.float32
    return lambda: gram(kernel, images, dtype=dtype)


if __name__ == "__main__":
    serve(prepare, {"symscope": symscope.__version__, "torch": torch.__version__})
