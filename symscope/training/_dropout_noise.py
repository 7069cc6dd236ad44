"""Dropout's random numbers from a seed and an epoch, so that a resumed training draws the same ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from symscope.numerics import seeded


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
