"""How elements multiply: looked up in a table, or from the structure of the group, which needs none.

A law takes tensors of elements that broadcast, `law(a, b)` is ab, and knows the order of its group. Laws are
values: two are equal when they are of one kind and say the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Int64
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

Elements = Int64[Tensor, "*shape"]


@final
@dataclass(frozen=True, eq=False)
class TableLaw:
    """`ab = table[a, b]`."""

    table: Int64[Tensor, "n n"]

    @property
    def order(self) -> int:
        """Number of elements."""
        return len(self.table)

    def __call__(self, a: Tensor, b: Tensor) -> Elements:
        return self.table[a, b]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableLaw) and torch.equal(self.table, other.table)

    def __hash__(self) -> int:
        return hash(len(self.table))


@final
@dataclass(frozen=True, eq=False)
class PermutationLaw:
    """`(ab)(i) = a(b(i))` for a closed list of permutations; a product is found by its key.

    The key of a permutation is a fixed random linear form modulo 2^64; two of n permutations share one with a
    probability of about n^2 / 2^64.
    """

    permutations: Int64[Tensor, "n d"]

    @property
    def order(self) -> int:
        """Number of elements."""
        return len(self.permutations)

    @cached_property
    def _weights(self) -> Int64[Tensor, "d"]:
        generator = torch.Generator().manual_seed(0)
        return torch.randint(1, 2**63 - 1, (self.permutations.shape[1],), generator=generator)

    @cached_property
    def _ascending(self) -> tuple[Int64[Tensor, "n"], Int64[Tensor, "n"]]:
        keys, positions = (self.permutations * self._weights).sum(-1).sort()
        return keys, positions

    def positions(self, permutations: Int64[Tensor, "*shape d"]) -> Elements:
        """The elements that these permutations of the list are."""
        keys, positions = self._ascending
        where = torch.searchsorted(keys, (permutations * self._weights).sum(-1))
        return positions[where.clamp(max=len(keys) - 1)]

    def __call__(self, a: Tensor, b: Tensor) -> Elements:
        after, first = torch.broadcast_tensors(self.permutations[a], self.permutations[b])
        return self.positions(after.gather(-1, first))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PermutationLaw) and torch.equal(self.permutations, other.permutations)

    def __hash__(self) -> int:
        return hash(self.permutations.shape)


@final
@dataclass(frozen=True)
class CyclicLaw:
    """C_n: element k is r^k."""

    n: int

    @property
    def order(self) -> int:
        """Number of elements."""
        return self.n

    def __call__(self, a: Tensor, b: Tensor) -> Elements:
        return (a + b) % self.n


@final
@dataclass(frozen=True)
class DihedralLaw:
    """D_n: element k < n is r^k, element n + k is r^k s, and `s r = r^-1 s`."""

    n: int

    @property
    def order(self) -> int:
        """Number of elements."""
        return 2 * self.n

    def __call__(self, a: Tensor, b: Tensor) -> Elements:
        mirrored = a >= self.n
        power = torch.where(mirrored, a - b, a + b) % self.n
        return power + self.n * (mirrored ^ (b >= self.n))


@final
@dataclass(frozen=True)
class PairLaw:
    """G x H: element `a * |H| + b` is the pair (a, b)."""

    left: Law
    right: Law

    @property
    def order(self) -> int:
        """Number of elements."""
        return self.left.order * self.right.order

    def __call__(self, a: Tensor, b: Tensor) -> Elements:
        m = self.right.order
        return self.left(a // m, b // m) * m + self.right(a % m, b % m)


Law = TableLaw | PermutationLaw | CyclicLaw | DihedralLaw | PairLaw


def law_table(law: Law) -> Int64[Tensor, "n n"]:
    """Every product, `table[a, b]` is ab; made a few rows at a time, so that it is the largest thing held.

    >>> law_table(CyclicLaw(3)).tolist()
    [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    """
    if isinstance(law, TableLaw):
        return law.table
    everyone = torch.arange(law.order)
    table = torch.empty(law.order, law.order, dtype=torch.int64)
    rows = max(1, 2**18 // law.order)
    for start in range(0, law.order, rows):
        table[start : start + rows] = law(everyone[start : start + rows, None], everyone)
    return table


def orbit_labels(images: Int64[Tensor, "k n"]) -> Int64[Tensor, "n"]:
    """A number for the orbit of each of n points under k permutations; orbits count by first points.

    >>> orbit_labels(torch.tensor([[2, 1, 0, 3]])).tolist()
    [0, 1, 0, 2]
    """
    count, n = images.shape
    start, stop = torch.arange(n).repeat(count), images.flatten()
    ones = torch.ones(count * n, dtype=torch.int8)
    graph = coo_array((ones.numpy(), (start.numpy(), stop.numpy())), shape=(n, n))
    return torch.from_numpy(connected_components(graph, directed=False)[1]).to(torch.int64)


def generating_set(law: Law, elements: Int64[Tensor, "k"]) -> tuple[list[int], Int64[Tensor, "h"]]:
    """Elements among these that generate what all of them do, few of them; and the subgroup, sorted.

    The first element not yet reached is added until all are: each at least doubles the subgroup.

    >>> generating_set(CyclicLaw(12), torch.tensor([4, 8]))
    ([4], tensor([0, 4, 8]))
    """
    chosen: list[int] = []
    everyone, inside = torch.arange(law.order), torch.arange(law.order) == 0
    while len(outside := elements[~inside[elements]]):
        chosen.append(int(outside[0]))
        labels = orbit_labels(law(everyone, torch.tensor(chosen)[:, None]))
        inside = labels == labels[0]
    return chosen, inside.nonzero()[:, 0]


def listed_moves(permutations: Int64[Tensor, "n d"], elements: Tensor) -> Int64[Tensor, "k d"]:
    """Where elements send points, looked up; a `functools.partial` of it is the `moves` of a group."""
    return permutations[elements]


def powers(law: Law, elements: Tensor, exponents: Tensor) -> Elements:
    """`g^k` for elements g and exponents k >= 0, by repeated squaring.

    >>> powers(CyclicLaw(10), torch.tensor([1, 3]), torch.tensor([7, 4])).tolist()
    [7, 2]
    """
    result = torch.zeros_like(elements)
    while bool((exponents > 0).any()):
        result = torch.where(exponents % 2 == 1, law(result, elements), result)
        elements, exponents = law(elements, elements), exponents // 2
    return result
