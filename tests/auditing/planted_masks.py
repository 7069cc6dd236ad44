"""Pictures with masks whose behaviour under turns and mirrors is known by construction."""

from __future__ import annotations

import torch
from torch import Tensor

from symscope.numerics import seeded

SIDE = 17  # odd: quarter turns leave the middle pixel


def bars(count: int, seed: int, upright: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Bars that are bright at one end, in any direction; coordinates along each, and which pixels it covers.

    Returns:
        Pictures `[n, side, side]`, how far each pixel lies towards the bright end, and where the bar is.
    """
    generator = seeded(seed, 71)
    angle = 2 * torch.pi * torch.rand(count, 1, 1, generator=generator)
    angle = torch.zeros_like(angle) if upright else angle
    up, right = torch.meshgrid(
        torch.arange(SIDE).flip(0) - SIDE // 2, torch.arange(SIDE) - SIDE // 2, indexing="ij"
    )
    along = angle.cos() * right + angle.sin() * up
    across = angle.cos() * up - angle.sin() * right
    there = torch.sigmoid(3 * (5 - along.abs())) * torch.sigmoid(3 * (2 - across.abs()))
    x = there * (0.6 + 0.4 * torch.tanh(along / 2))
    return x + 0.05 * torch.randn(x.shape, generator=generator), along, there > 0.5


def ends(count: int, seed: int, upright: bool = False) -> tuple[Tensor, Tensor]:
    """Masks that move with pictures: 1 on the dark half of the bar, 2 on the bright one."""
    x, along, there = bars(count, seed, upright)
    return x, there * (1 + (along > 0).long())


def left_sides(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Masks that do not move with pictures: 1 left of the middle of the picture, 2 right of it."""
    x, _, there = bars(count, seed)
    return x, there * (1 + (torch.arange(SIDE) > SIDE // 2).long())


def sky(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Masks that are the same for every picture: 1 in its upper part."""
    x, _, there = bars(count, seed)
    return x, torch.zeros_like(there).long() + (torch.arange(SIDE) < 7).long()[:, None]


def hands(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Hooks in four directions: the class of their pixels is the hand, which a mirror changes."""
    generator = seeded(seed, 73)
    hook = torch.zeros(SIDE, SIDE)
    hook[3:14, 7:10] = 1.0
    hook[3:6, 10:14] = 1.0  # at the upper end, to the right
    turns = torch.randint(4, (count,), generator=generator)
    mirrored = torch.randint(2, (count,), generator=generator)
    x = torch.stack(
        [
            torch.rot90(hook.flip(1) if hand else hook, turn)
            for hand, turn in zip(mirrored.tolist(), turns.tolist(), strict=True)
        ]
    )
    masks = (x > 0) * (1 + mirrored)[:, None, None]
    return x + 0.1 * torch.randn(x.shape, generator=generator), masks
