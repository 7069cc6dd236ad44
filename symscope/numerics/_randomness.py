"""Where random numbers come from: an integer seed, mixed with what the numbers are for."""

from __future__ import annotations

import numpy as np
import torch

from symscope.numerics._checked import explained
from symscope.numerics._checks import check_count

_WORD = 2**64


def seed_generator(seed: int) -> torch.Generator:
    """PyTorch's generator with a seed.

    Raises:
        InputError: The seed is not an integer from 0 to 2^63 - 1.

    >>> seed_generator(3).initial_seed()
    3
    """
    return torch.Generator().manual_seed(check_count("seed", seed, 0, 2**63 - 1))


@explained
def seeded(seed: int, *stream: int) -> torch.Generator:
    """A random generator that depends on the seed and on nothing else.

    Streams of one seed are independent of each other, so that drawing more from one never changes another:
    class 3 of a draw is the same whether or not class 2 was drawn before it.

    Args:
        seed: A non-negative integer.
        stream: Integers that name the draw (a class, an image number).

    Returns:
        A CPU generator.

    Raises:
        InputError: The seed is not a non-negative integer.

    >>> a, b = seeded(0, 1), seeded(0, 2)
    >>> bool((torch.rand(3, generator=a) == torch.rand(3, generator=b)).any())
    False
    >>> bool((torch.rand(3, generator=seeded(0, 1)) == torch.rand(3, generator=seeded(0, 1))).all())
    True
    """
    value = check_count("seed", seed, 0)
    # numpy promises that SeedSequence gives the same words in every version
    key = np.random.SeedSequence(value, spawn_key=tuple(name % _WORD for name in stream))
    return torch.Generator().manual_seed(int(key.generate_state(1, np.uint64)[0]))
