"""What a user might have in a file of their own, some of it broken."""

from __future__ import annotations

import sys

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset, TensorDataset

from symscope.data import LabelledData


def build(seed: int) -> nn.Module:
    """A network for 6 x 6 images and three classes."""
    return nn.Sequential(nn.Flatten(), nn.Linear(36, 16), nn.Tanh(), nn.Linear(16, 3))


def dataset() -> Dataset:
    """Twelve images of three classes."""
    x = torch.rand(12, 6, 6, generator=torch.Generator().manual_seed(3))
    return TensorDataset(x, torch.arange(12) % 3)


def labelled() -> LabelledData:
    """Twelve images of three classes, as symscope has them."""
    x = torch.rand(12, 6, 6, generator=torch.Generator().manual_seed(3))
    return LabelledData(x, torch.arange(12) % 3, "labelled", "tests")


def negative(g: int, x: Tensor) -> Tensor:
    """C2: the negative image."""
    return -x if g else x


def by_two(g: int, x: Tensor) -> Tensor:
    """Shifts of 6 x 6 images by two pixels: an action of C3, and of no other group than its multiples."""
    return x.roll(2 * g, -1)


def turned_points(g: int, x: Tensor) -> Tensor:
    """C5: points of the plane about the origin."""
    angle = torch.tensor(2 * torch.pi * g / 5, dtype=x.dtype)
    turn = torch.stack([angle.cos(), angle.sin(), -angle.sin(), angle.cos()]).reshape(2, 2)
    return x @ turn


def nearly(g: int, x: Tensor) -> Tensor:
    """Shifts by two pixels under a light that stays where it is: nearly an action of C3."""
    return x.roll(2 * g, -1) + 0.1 * g * torch.linspace(-1, 1, x.shape[-1]).to(x)


def wider(g: int, x: Tensor) -> Tensor:
    """Changes the shape."""
    return nn.functional.pad(x, (1, 0)) if g else x


def breaks() -> nn.Module:
    """Fails as a user's code fails."""
    return nn.Linear(36, unknown_width)  # type: ignore[name-defined]


def leaves(*seed: int) -> None:
    """Ends the program, as a script's main function does."""
    sys.exit(0)


class LeavesInTraining(nn.Module):
    """A network that ends the program once it is trained."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(36, 3)

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            sys.exit(0)
        return self.last(x.flatten(1))


class FailsInTraining(LeavesInTraining):
    """A network with a mistake that shows only in training."""

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            return x * {}["width"]
        return self.last(x.flatten(1))


class Leaving(Dataset):
    """A dataset that ends the program when it is read."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> None:
        sys.exit(0)


def leaves_at(g: int, x: Tensor) -> Tensor:
    """An action that ends the program."""
    sys.exit(0)


def numbers() -> Dataset:
    """Twelve images with two numbers each."""
    x = torch.rand(12, 6, 6, generator=torch.Generator().manual_seed(3))
    return TensorDataset(x, torch.stack([x.mean((1, 2)), x.amax((1, 2))], 1))


def two_numbers(seed: int) -> nn.Module:
    """A network for 6 x 6 images that returns two numbers."""
    return nn.Sequential(nn.Flatten(), nn.Linear(36, 16), nn.Tanh(), nn.Linear(16, 2))


def turned_back(g: int, y: torch.Tensor) -> torch.Tensor:
    """C4 on vectors: quarter turns, clockwise."""
    for _ in range(g):
        y = torch.stack([y[..., 1], -y[..., 0]], -1)
    return y


def grown(g: int, y: torch.Tensor) -> torch.Tensor:
    """No representation of C4."""
    return (1 + g) * y
