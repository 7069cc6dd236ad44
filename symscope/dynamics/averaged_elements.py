"""Which group elements an average runs over: all of them, or some drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import CompactGroup, FiniteGroup, Group, PermutationGroup
from symscope.numerics import check_count, explained

__all__ = [
    "all_elements",
    "drawn_elements",
]

MOST_PASSES = 10**6
LARGEST_EXACT = 5040  # S7: more passes over the data than anyone would wait for


@explained
def all_elements(group: Group, limit: int = LARGEST_EXACT) -> list[Any]:
    """Every element of a finite group, for exact averages.

    Args:
        group: Listed, or known by generators.
        limit: The largest order to average over.

    Raises:
        InputError: More elements than the limit, or infinitely many: draw some with `drawn_elements`.

    >>> from symscope.groups import dihedral
    >>> len(all_elements(dihedral(4)))
    8
    """
    instead = (
        "average over drawn_elements(group, passes, generator), or call monte_carlo_risk and "
        "monte_carlo_gradient, which give the standard error"
    )
    if isinstance(group, CompactGroup):
        raise InputError(f"expected a finite group for exact averages, {group.name} is infinite: {instead}.")
    if group.order > limit:
        raise InputError(
            f"expected at most {limit} elements for exact averages, {group.name} has {group.order}: "
            f"{instead}."
        )
    if isinstance(group, PermutationGroup):
        return list(group.listed(limit).permutations)
    return list(group.elements)


@explained
def drawn_elements(group: Group, passes: int, generator: torch.Generator) -> list[Any]:
    """Elements drawn from the Haar measure, with replacement.

    >>> from symscope.groups import symmetric
    >>> len(drawn_elements(symmetric(10), 25, torch.Generator().manual_seed(0)))
    25
    """
    check_count("passes", passes, 1, MOST_PASSES)
    return list(group.sample(passes, generator))


def probes(group: Group, count: int, generator: torch.Generator) -> list[Any]:
    """Elements to test a law on: all of a group of at most `count`, else generators and random ones."""
    if not isinstance(group, CompactGroup) and group.order <= count:
        return all_elements(group)
    return [*group.generators, *group.sample(count, generator)]


def element_name(group: Group, g: Any) -> str:
    """An element as a message shows it.

    >>> from symscope.groups import dihedral
    >>> element_name(dihedral(4), 5)
    '5 (r s)'
    """
    if isinstance(group, FiniteGroup):
        return f"{int(g)} ({group.labels[int(g)]})"
    shown: Sequence[Any] = torch.as_tensor(g).to(torch.float64).round(decimals=3).tolist()
    return str([int(v) for v in shown] if isinstance(g, Tensor) and g.ndim == 1 else shown)
