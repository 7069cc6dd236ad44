"""Prints how far compiled steps are from plain ones, one number for each number of copies.

A program of its own: the shape checks of the test suite are not for the compiler's eyes.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from symscope.networks.architectures import vit
from symscope.training import StoredPoints, train_networks
from tests.training.problems import EPOCHS


def tiny(seed: int) -> torch.nn.Module:
    return vit(seed, side=8, patch=4, dim=8, heads=1, hidden=8, classes=3)


if __name__ == "__main__":
    torch.set_num_threads(1)
    x = torch.randn(24, 1, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    labels, seen = torch.arange(24) % 3, torch.ones(2, 24, dtype=torch.bool)
    for copies in (1, 2):
        plain, compiled = (
            train_networks(
                tiny,
                StoredPoints(x),
                labels,
                seen[:copies],
                {},
                replace(EPOCHS, compiled=on),
                list(range(copies)),
            ).losses
            for on in (False, True)
        )
        print(float((plain - compiled).abs().max()))
