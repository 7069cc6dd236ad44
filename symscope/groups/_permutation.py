"""Permutation groups too big to list: generators only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Int64
from torch import Tensor

from symscope.groups._finite_group import LARGEST_LISTED, FiniteGroup
from symscope.numerics import check_count, check_memory, checked

LARGEST_DEGREE = 1000  # points of S<n> and A<n>: the order of S1000 has 2,568 digits


@checked
@final
@dataclass(frozen=True, eq=False, repr=False)
class PermutationGroup:
    """A group of permutations known by generators; its elements are index tensors `[degree]`.

    Nothing here lists the elements: S10 has 3.6 million. Its order comes from a stabiliser chain
    (Schreier-Sims, by sympy) where it is not known beforehand.

    Attributes:
        name: Its name in the grammar of `parse` where it has one.
        generators: Permutations that generate it, as images of the points.
        known_order: Number of elements, if known: that of S80 takes a minute to compute.

    >>> from symscope.groups import symmetric
    >>> symmetric(10)
    S10 (order 3628800, on 10 points)
    """

    name: str
    generators: Int64[Tensor, "k degree"]
    known_order: int | None = None

    def __post_init__(self) -> None:
        from symscope.groups._generated import check_permutations

        check_permutations(self.generators)

    def __repr__(self) -> str:
        return f"{self.name} (order {self.order}, on {self.degree} points)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PermutationGroup) and (
            self is other or (self.name == other.name and torch.equal(self.generators, other.generators))
        )

    def __hash__(self) -> int:
        return hash((self.name, self.degree))

    @property
    def degree(self) -> int:
        """Number of points it permutes."""
        return self.generators.shape[1]

    @property
    def identity(self) -> Int64[Tensor, "degree"]:
        """The permutation that moves nothing."""
        return torch.arange(self.degree)

    @cached_property
    def _levels(self) -> list[list[Tensor]]:
        """The coset representatives at each level of a stabiliser chain."""
        from sympy.combinatorics import Permutation
        from sympy.combinatorics import PermutationGroup as StabiliserChain

        chain = StabiliserChain([Permutation(g) for g in self.generators.tolist()])
        return [[torch.tensor(u.array_form) for u in level.values()] for level in chain.basic_transversals]

    @cached_property
    def order(self) -> int:
        """Number of elements, without listing them."""
        return self.known_order or math.prod(len(level) for level in self._levels)

    def multiply(self, a: Tensor, b: Tensor) -> Int64[Tensor, "degree"]:
        """The product ab: b first, then a."""
        return a[b]

    def inverse(self, a: Tensor) -> Int64[Tensor, "degree"]:
        """The inverse of a."""
        return torch.argsort(a)

    def sample(self, count: int, generator: torch.Generator) -> list[Tensor]:
        """Elements drawn uniformly: one coset representative at each level of the stabiliser chain."""
        count = check_count("count", count, 0)
        check_memory(f"{count} samples of {self.name}", 8 * count * self.degree, "draw fewer at a time")
        drawn = []
        for _ in range(count):
            element = self.identity
            for level in self._levels:
                pick = int(torch.randint(len(level), (1,), generator=generator))
                # each level's representatives multiply on the left of the deeper ones
                element = self.multiply(element, level[pick])
            drawn.append(element)
        return drawn

    def listed(self, max_order: int = LARGEST_LISTED) -> FiniteGroup:
        """The same group with its elements listed, if there are at most `max_order`."""
        from symscope.groups._generated import from_generators

        return from_generators(self.generators, name=self.name, max_order=max_order)
