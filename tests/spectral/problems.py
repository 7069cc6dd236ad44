"""Random regression problems the spectral tests share."""

from __future__ import annotations

import torch
from torch import Tensor


def random_gram(n: int, seed: int) -> Tensor:
    """A well-conditioned kernel matrix without any symmetry."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(n, n + 3, generator=generator, dtype=torch.float64)
    return features @ features.T / n + 0.1 * torch.eye(n, dtype=torch.float64)


def random_row(n: int, seed: int) -> Tensor:
    """The first row of a positive definite symmetric circulant matrix."""
    generator = torch.Generator().manual_seed(seed)
    half = 0.05 + torch.rand(n // 2 + 1, generator=generator, dtype=torch.float64)
    spectrum = torch.cat([half, half[1 : n - n // 2].flip(0)])
    return torch.fft.ifft(spectrum).real


def circulant(row: Tensor) -> Tensor:
    """The matrix with this first row, each row one further to the right."""
    return torch.stack([row.roll(shift) for shift in range(len(row))])


def random_labels(n: int, seed: int, *shape: int) -> Tensor:
    """Labels without structure."""
    return torch.randn(n, *shape, generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64)
