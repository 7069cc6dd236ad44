"""Names of irreps that say what they are: partitions for symmetric groups, waves and signs for dihedral."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import torch

from symscope.groups import FiniteGroup
from symscope.spectral.irrep_blocks import Frequency


def irrep_label(frequency: Frequency, group: FiniteGroup) -> str:
    """A name for people: "(3,1)" for S4, "wave 1" or "turn+ mirror-" for D4, as it is for others.

    Args:
        frequency: The irrep.
        group: `symmetric(n)` up to n = 6, `dihedral(n)`, or any.

    >>> from symscope.groups import dihedral, symmetric
    >>> from symscope.spectral.irrep_blocks import frequencies
    >>> [irrep_label(f, symmetric(3)) for f in frequencies(symmetric(3))]
    ['(3)', '(1,1,1)', '(2,1)']
    >>> sorted(irrep_label(f, dihedral(3)) for f in frequencies(dihedral(3)))
    ['trivial', 'turn+ mirror-', 'wave 1']
    """
    if frequency.index == 0 and not group.name.startswith("S"):
        return "trivial"
    characters = torch.einsum("gii->g", frequency.matrices.to(torch.complex128)).real
    if group.name.startswith("S") and group.name[1:].isdigit():
        return _partition(frequency, characters, group)
    if group.name.startswith("D") and group.name[1:].isdigit():
        n = group.order // 2
        if frequency.dim == 2:
            return f"wave {round(math.acos(float(characters[1].clamp(-2, 2)) / 2) * n / (2 * math.pi))}"
        turn, mirror = ("+" if float(characters[g]) > 0 else "-" for g in (1, n))
        return f"turn{turn} mirror{mirror}"
    return frequency.name.removeprefix("k=")


def _partition(frequency: Frequency, characters: torch.Tensor, group: FiniteGroup) -> str:
    """The partition whose dimension and character on a swap of two are those of the irrep.

    Frobenius: `chi(swap) = dim * sum of contents / (n (n - 1) / 2)`; unique up to n = 6.
    """
    n = group.permutations.shape[1]
    swaps = ((group.permutations == torch.arange(n)).sum(1) == n - 2).nonzero()[:, 0]
    value = round(float(characters[swaps[0]])) if n > 1 else 1
    fitting = [
        shape
        for shape in partitions(n)
        if dimension(shape) == frequency.dim
        and Fraction(2 * frequency.dim * contents(shape), max(1, n * (n - 1))) == value
    ]
    return f"({','.join(map(str, fitting[0]))})" if len(fitting) == 1 else frequency.name


def partitions(n: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """The ways to write n as a sum of decreasing numbers.

    >>> list(partitions(4))
    [(4,), (3, 1), (2, 2), (2, 1, 1), (1, 1, 1, 1)]
    """
    if n == 0:
        yield ()
        return
    for first in range(min(n, largest or n), 0, -1):
        for rest in partitions(n - first, first):
            yield (first, *rest)


def dimension(shape: tuple[int, ...]) -> int:
    """The dimension of a partition's irrep, by hook lengths.

    >>> [dimension(shape) for shape in partitions(4)]
    [1, 3, 2, 3, 1]
    """
    columns = [sum(row > c for row in shape) for c in range(shape[0])]
    hooks = math.prod(row - c + columns[c] - r - 1 for r, row in enumerate(shape) for c in range(row))
    return math.factorial(sum(shape)) // hooks


def contents(shape: tuple[int, ...]) -> int:
    """The sum of column minus row over the boxes of a partition.

    >>> contents((3, 1)), contents((1, 1))
    (2, -1)
    """
    return sum(c - r for r, row in enumerate(shape) for c in range(row))
