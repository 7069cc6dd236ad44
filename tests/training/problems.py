"""Small trainings that tests share."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from symscope.networks.architectures import mlp
from symscope.training import MiniBatch, Optimiser


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pairs(copies: int = 3, n: int = 6, inputs: int = 4) -> tuple[Tensor, Tensor]:
    """Data sets of points with values 1 and -1."""
    x = torch.randn(copies, n, inputs, dtype=torch.float64, generator=generator(1))
    y = torch.where(torch.arange(n) % 2 == 0, 1.0, -1.0).double().expand(copies, n)
    return x, y


def pool(n: int = 40, inputs: int = 5, classes: int = 3) -> tuple[Tensor, Tensor]:
    """Points in noisy clusters, one cluster per class."""
    labels = torch.arange(n) % classes
    centres = 2 * torch.randn(classes, inputs, dtype=torch.float64, generator=generator(2))
    return centres[labels] + torch.randn(n, inputs, dtype=torch.float64, generator=generator(3)), labels


def masks(copies: int = 3, n: int = 40) -> Tensor:
    """Each copy sees 30 of 40 points, its own 30."""
    kept = torch.ones(copies, n, dtype=torch.bool)
    for i in range(copies):
        kept[i, torch.randperm(n, generator=generator(10 + i))[: n // 4]] = False
    return kept


def small(seed: int) -> nn.Module:
    return mlp((4, 7, 1), seed=seed)


def dropping(seed: int) -> nn.Module:
    return mlp((5, 8, 3), 0.4, seed=seed)


def steady(seed: int) -> nn.Module:
    return mlp((5, 8, 3), seed=seed)


EPOCHS = MiniBatch(6, 8, Optimiser("adam", 1e-2, betas=(0.7, 0.9)))
