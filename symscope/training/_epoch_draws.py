"""Random draws of an epoch: the points each copy sees in each step, in its own order; dropout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from symscope.numerics import seeded


@final
@dataclass(frozen=True, eq=False)
class Shuffle:
    """The order in which one epoch shows every copy its points.

    Steps are as many as the largest set needs; a copy with fewer points has them spread evenly, so that all
    copies take every step and step sizes differ by at most one point.

    Attributes:
        orders: Positions of each copy's points in the order it sees them.
        batch: Points per step at most.
        filled: Fill every step up to `batch`, so that its shape is the same whatever the number of points
            (a compiled step serves one shape).

    >>> shuffle = Shuffle([torch.tensor([4, 5, 6]), torch.tensor([7, 8])], batch=2)
    >>> [(index.tolist(), real.tolist()) for index, real in shuffle.steps()]
    [([[4, 4], [7, 7]], [[True, False], [True, False]]), ([[5, 6], [8, 8]], [[True, True], [True, False]])]
    """

    orders: list[Int64[Tensor, "_"]]
    batch: int
    filled: bool = False

    def __len__(self) -> int:
        return -(-max(len(order) for order in self.orders) // self.batch)

    def steps(self) -> Iterator[tuple[Int64[Tensor, "copies b"], Bool[Tensor, "copies b"]]]:
        """For each step, positions `[copies, b]` and which of them are real, not filling.

        All steps have the same shape, and are laid out at once: a GPU then has one table to read from.
        """
        device, count = self.orders[0].device, len(self)
        sizes = torch.tensor([len(order) for order in self.orders], device=device)
        starts = torch.cat([torch.zeros_like(sizes[:1]), sizes.cumsum(0)[:-1]])
        bounds = torch.arange(count + 1, device=device)[:, None] * sizes // count
        width = self.batch if self.filled else -(-max(len(order) for order in self.orders) // count)
        place = bounds[:-1, :, None] + torch.arange(width, device=device)
        real = place < bounds[1:, :, None]
        last = (bounds[1:] - 1).clamp(min=0)[..., None]  # filling repeats a point of the same step
        table = torch.cat(self.orders)[starts[:, None] + torch.minimum(place, last)]
        yield from zip(table, real, strict=True)


def shuffle(
    seen: list[Int64[Tensor, "_"]], batch: int, seeds: tuple[int, ...], epoch: int, filled: bool = False
) -> Shuffle:
    """A fresh order for each copy, by its own seed and the epoch.

    Args:
        seen: Positions of each copy's points.
        batch: Points per step at most.
        seeds: One seed per copy.
        epoch: Number of the epoch.
        filled: Fill every step up to `batch`, see `Shuffle`.

    >>> shuffle([torch.arange(3)], 3, (0,), epoch=1).orders[0].sort().values.tolist()
    [0, 1, 2]
    """
    orders = []
    for own, seed in zip(seen, seeds, strict=True):
        generator = draw(seed, epoch, own.device)
        orders.append(own[torch.randperm(len(own), generator=generator, device=own.device)])
    return Shuffle(orders, batch, filled)


def one_of_each(
    seen: Bool[Tensor, "copies n"], order: int, seeds: tuple[int, ...], epoch: int
) -> list[Int64[Tensor, "_"]]:
    """For each copy and each sample it knows, one of the points it may see, drawn afresh every epoch.

    Args:
        seen: Mask of the points each copy may see.
        order: Points per sample.
        seeds: One seed per copy.
        epoch: Number of the epoch.

    >>> seen = torch.tensor([[True, False, False, True, False, False]])
    >>> one_of_each(seen, 3, (0,), epoch=0)[0].tolist()
    [0, 3]
    """
    drawn = []
    for own, seed in zip(seen, seeds, strict=True):
        orbits = own.reshape(-1, order)
        score = torch.rand(orbits.shape, generator=draw(seed, epoch, own.device, 1), device=own.device)
        element = score.masked_fill(~orbits, -1.0).argmax(1)
        known = orbits.any(1).nonzero()[:, 0]
        drawn.append(known * order + element[known])
    return drawn


def draw(seed: int, epoch: int, device: torch.device, purpose: int = 0) -> torch.Generator:
    """A generator of the device for one copy, epoch and purpose."""
    return torch.Generator(device).manual_seed(seeded(seed, epoch, purpose).initial_seed())


@contextmanager
def dropout_noise(device: torch.device) -> Iterator[Callable[[int, int], None]]:
    """A function of (seed, epoch) to call before each epoch: dropout then draws from that seed.

    PyTorch's dropout has no generator of its own, so its global one is borrowed and put back afterwards.
    """
    cuda = device.type == "cuda"
    with torch.random.fork_rng(devices=[device] if cuda else []):

        def start(seed: int, epoch: int) -> None:
            words = seeded(seed, epoch).initial_seed()
            if cuda:
                with torch.cuda.device(device):
                    torch.cuda.manual_seed(words)
            else:
                torch.default_generator.manual_seed(words)

        yield start
