"""Weights that depend on a seed and on nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from symscope.numerics import seeded


@contextmanager
def seeded_weights(seed: int) -> Iterator[None]:
    """Inside, PyTorch's own initialisers draw from this seed, on the CPU; outside, nothing moves.

    Drawn in float64 whatever the network's dtype becomes: the float32 network is the float64 one, rounded.

    Args:
        seed: A non-negative integer.

    Raises:
        InputError: A seed that is not a non-negative integer.

    >>> with seeded_weights(3):
    ...     first = torch.nn.Linear(2, 2)
    >>> with seeded_weights(3):
    ...     second = torch.nn.Linear(2, 2)
    >>> bool((first.weight == second.weight).all()), first.weight.dtype
    (True, torch.float64)
    """
    start = seeded(seed).initial_seed()
    before = torch.get_default_dtype()
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.default_generator.manual_seed(start)
        torch.set_default_dtype(torch.float64)
        try:
            yield
        finally:
            torch.set_default_dtype(before)
