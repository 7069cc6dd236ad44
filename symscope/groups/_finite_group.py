"""Finite groups whose elements are numbered: a law of multiplication plus names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Int64
from torch import Tensor

from symscope.errors import InputError
from symscope.groups._group_laws import Law, TableLaw, generating_set, law_table, powers
from symscope.numerics import check_count, check_memory, checked, explained, shortened

LARGEST_ORDER = 2**17  # elements of a group: each has a name and often an irrep, together some 100 MB
LARGEST_TABLE = 2**14  # elements of a group whose table of products is made: it then takes 2 GiB
# Groups that are given by generators are searched this far unless the caller asks for more: the size of S7.
LARGEST_LISTED = 5040


@checked
@final
@dataclass(frozen=True, eq=False, repr=False)
class FiniteGroup:
    """A finite group; its elements are the integers `0 .. order - 1`, the identity is 0.

    Make one with `cyclic`, `dihedral`, ..., `from_generators`, `from_table` or `parse("C14xC14")`.

    Products come from its law: `multiply` for two elements, `law` for tensors of them. The whole `table` is
    made when it is first asked for, so that a large cyclic or dihedral group costs nothing until then.

    Equal groups have the same name, the same law and the same factors: their irreps come in one order and
    under the same names, so that one may stand for the other in every result. A group that is given only by
    its table therefore differs from the `cyclic` one of the same name, whose irreps follow the FFT.

    Attributes:
        name: Its name in the grammar of `parse` where it has one.
        law: `law(a, b)` is the product ab, for tensors of elements that broadcast.
        generators: Elements that generate the group.
        labels: A name for each element.
        moves: A faithful action on points: for elements `[k]` where each sends every point, `[k, points]`.
            None where the points are the elements themselves.
        cyclic_factors: `(14, 14)` for C14xC14 with elements in row-major order; None for other groups.
        factors: The two groups of a direct product, for what can be computed factor by factor.
        matrices: The matrices it was made from, if it was.

    >>> from symscope.groups import dihedral
    >>> d4 = dihedral(4)
    >>> d4.order, d4.labels[1], d4.labels[5], d4.labels[d4.multiply(1, 4)]
    (8, 'r', 'r s', 'r s')
    """

    name: str
    law: Law
    generators: tuple[int, ...]
    labels: tuple[str, ...]
    moves: Callable[[Tensor], Tensor] | None = None
    cyclic_factors: tuple[int, ...] | None = None
    factors: tuple[FiniteGroup, FiniteGroup] | None = None
    matrices: Tensor | None = None

    identity = 0

    def __repr__(self) -> str:
        return f"{self.name} (order {self.order})"

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, FiniteGroup) and self._made_of == other._made_of and self.law == other.law
        )

    def __hash__(self) -> int:
        return hash(self._made_of)

    @property
    def _made_of(self) -> tuple[object, ...]:
        """What beside the law decides the irreps, their order and their names: results are kept by it."""
        factors = self.factors if self.cyclic_factors is None else None  # cyclic factors go first in `irreps`
        return self.name, self.order, self.cyclic_factors, factors

    @property
    def order(self) -> int:
        """Number of elements."""
        return self.law.order

    @property
    def elements(self) -> range:
        """Every element."""
        return range(self.order)

    @cached_property
    def table(self) -> Int64[Tensor, "n n"]:
        """`table[a, b]` is the product ab.

        Raises:
            InputError: The group is too large for a table.
        """
        check_memory(
            f"the table of {self.order} x {self.order} products of {self.name}",
            8 * self.order**2,
            f"take a group of at most {LARGEST_TABLE} elements",
            most=8 * LARGEST_TABLE**2,
        )
        return law_table(self.law)

    @cached_property
    def permutations(self) -> Int64[Tensor, "n points"]:
        """`permutations[g, i]` is where g sends point i.

        Raises:
            InputError: They do not fit in memory.
        """
        if self.moves is None:
            return self.table
        check_memory(
            f"the {self.order} permutations of {self.degree} points by {self.name}",
            8 * self.order * self.degree,
            "take a smaller group, or some of them with group.move(elements)",
        )
        return self.move(torch.arange(self.order))

    @cached_property
    def degree(self) -> int:
        """Number of points it permutes."""
        return self.order if self.moves is None else self.moves(torch.tensor([self.identity])).shape[1]

    def move(self, elements: Int64[Tensor, "k"]) -> Int64[Tensor, "k points"]:
        """Where some elements send every point: rows of `permutations`, without the others."""
        if self.moves is not None:
            return self.moves(elements)
        return self.law(elements[:, None], torch.arange(self.order))

    @cached_property
    def inverses(self) -> Int64[Tensor, "n"]:
        """`inverses[g]` is the inverse of g."""
        everyone = torch.arange(self.order)
        return powers(self.law, everyone, torch.full_like(everyone, self.order - 1))

    @cached_property
    def is_abelian(self) -> bool:
        """Whether every two elements commute (checked on the generators, which is enough)."""
        gens = torch.tensor(self.generators, dtype=torch.int64)
        block = self.law(gens[:, None], gens)
        return torch.equal(block, block.T)

    @cached_property
    def element_orders(self) -> Int64[Tensor, "n"]:
        """The smallest k >= 1 with g^k = e, for each g: the order of the group without needless primes."""
        everyone = torch.arange(self.order)
        orders = torch.full_like(everyone, self.order)
        for p in _prime_factors(self.order):
            smaller = orders // p
            enough = (orders % p == 0) & (powers(self.law, everyone, smaller) == self.identity)
            orders = torch.where(enough, smaller, orders)
        return orders

    def multiply(self, a: int, b: int) -> int:
        """The product ab."""
        return int(self.law(*self._checked_elements([a, b])))

    def inverse(self, a: int) -> int:
        """The inverse of a."""
        return int(self.inverses[self._checked_elements([a])])

    def sample(self, count: int, generator: torch.Generator) -> list[int]:
        """Elements drawn uniformly."""
        count = check_count("count", count, 0)
        check_memory(f"{count} samples of {self.name}", 40 * count, "draw fewer at a time")
        return torch.randint(self.order, (count,), generator=generator).tolist()

    def subgroup(self, elements: Sequence[int] | Tensor) -> Int64[Tensor, "k"]:
        """The elements of the subgroup generated by `elements`, sorted.

        >>> from symscope.groups import cyclic
        >>> cyclic(12).subgroup([8]).tolist()
        [0, 4, 8]
        """
        return generating_set(self.law, self._checked_elements(elements))[1]

    def _checked_elements(self, elements: Sequence[int] | Tensor) -> Int64[Tensor, "k"]:
        try:
            given = torch.as_tensor(elements).reshape(-1)
        except (TypeError, ValueError, RuntimeError) as error:
            raise InputError(
                f"expected elements of {self.name}, 0 to {self.order - 1}, got {shortened(elements)}."
            ) from error
        if given.numel() == 0:
            return given.to(torch.int64)
        if given.is_floating_point() or given.is_complex() or given.dtype == torch.bool:
            raise InputError(f"expected elements of {self.name}, 0 to {self.order - 1}, got {given.dtype}.")
        if int(given.min()) < 0 or int(given.max()) >= self.order:
            raise InputError(
                f"expected elements of {self.name}, 0 to {self.order - 1}, got {given.tolist()[:12]}."
            )
        return given.to(torch.int64)


def check_order(name: str, order: int, most: int = LARGEST_ORDER) -> None:
    """Refuses a group of too many elements, before it is built."""
    if order > most:
        raise InputError(f"{name}: expected at most {most} elements, got {order}; take a smaller group.")


def _prime_factors(n: int) -> list[int]:
    """With multiplicity: 12 is 2 * 2 * 3."""
    result, p = [], 2
    while p * p <= n:
        while n % p == 0:
            result.append(p)
            n //= p
        p += 1
    return [*result, n] if n > 1 else result


@explained
def from_table(
    table: Tensor | Sequence[Sequence[int]], name: str = "table", labels: Sequence[str] | None = None
) -> FiniteGroup:
    """The group with a given multiplication table, after checking that it is one.

    Closure, identity and inverses are checked on the whole table, associativity by Light's test on a
    generating set: `(a g) b = a (g b)` for every a, b and every generator g.

    Args:
        table: `table[a][b]` is the product ab; element 0 must be the identity.
        name: What to call the group.
        labels: A name for each element.

    Raises:
        InputError: The table is not square, not closed, not associative, or has no identity or inverses.

    >>> from_table([[0, 1, 2], [1, 2, 0], [2, 0, 1]]).is_abelian
    True
    """
    t = _checked_square(table)
    n = t.shape[0]
    everyone = torch.arange(n)
    for axis, kind in ((0, "column"), (1, "row")):
        wrong = (t.sort(dim=axis).values != (everyone[:, None] if axis == 0 else everyone)).any(dim=axis)
        if bool(wrong.any()):
            raise InputError(
                f"expected a group table, in which every {kind} holds every element once; {kind} "
                f"{int(wrong.nonzero()[0])} does not, so some element has no inverse."
            )
    if not (torch.equal(t[0], everyone) and torch.equal(t[:, 0], everyone)):
        units = [g for g in range(n) if torch.equal(t[g], everyone) and torch.equal(t[:, g], everyone)]
        hint = (
            f"element {units[0]} is: reorder the elements" if units else "no element is, so this is no group"
        )
        raise InputError(f"expected element 0 to be the identity; {hint}.")
    generators = tuple(generating_set(TableLaw(t), everyone)[0])
    for g in generators:
        left, right = t[t[:, g]], t[:, t[g]]
        if not torch.equal(left, right):
            a, b = (left != right).nonzero()[0].tolist()
            raise InputError(
                f"expected an associative table; ({a}*{g})*{b} = {int(left[a, b])} but "
                f"{a}*({g}*{b}) = {int(right[a, b])}."
            )
    names = tuple(labels) if labels is not None else tuple(f"g{i}" if i else "e" for i in range(n))
    if len(names) != n:
        raise InputError(f"expected {n} labels, one per element, got {len(names)}.")
    return FiniteGroup(name, TableLaw(t), generators, names)


def _checked_square(table: Tensor | Sequence[Sequence[int]]) -> Int64[Tensor, "n n"]:
    try:
        t = torch.as_tensor(table)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"expected a square multiplication table of integers: {error}.") from error
    if t.is_floating_point() or t.is_complex() or t.dtype == torch.bool:
        raise InputError(f"expected a table of integers, got {t.dtype}.")
    if t.ndim != 2 or t.shape[0] != t.shape[1] or t.shape[0] == 0:
        raise InputError(f"expected a square multiplication table, got shape {tuple(t.shape)}.")
    t = t.to(torch.int64)
    if int(t.min()) < 0 or int(t.max()) >= t.shape[0]:
        bad = ((t < 0) | (t >= t.shape[0])).nonzero()[0].tolist()
        raise InputError(
            f"expected products among the elements 0 to {t.shape[0] - 1}; {bad[0]}*{bad[1]} = {int(t[*bad])} "
            "is outside: the set is not closed."
        )
    return t


@explained
def check_finite_group(group: object) -> FiniteGroup:
    """The group, after checking that it is a finite one with its elements listed.

    Raises:
        InputError: It is a group of another kind, the name of one, or no group.

    >>> from symscope.groups import cyclic
    >>> check_finite_group(cyclic(4))
    C4 (order 4)
    """
    if isinstance(group, FiniteGroup):
        return group
    from symscope.groups._permutation import PermutationGroup  # both build on this file
    from symscope.groups.compact import CompactGroup

    match group:
        case CompactGroup():
            came = (
                f"{group.name}, a compact group whose elements are not listed: use a finite subgroup, such "
                "as C8 for rotations"
            )
        case PermutationGroup():
            came = (
                f"{group.name}, which is known by generators only: list its elements with "
                "group.listed(max_order), if there are few enough"
            )
        case str():
            came = f"the text {group!r}: read it with groups.parse({group!r})"
        case _:
            came = (
                f"{type(group).__name__}: make a group with groups.cyclic, dihedral, from_generators, "
                "from_table or parse"
            )
    raise InputError(f"expected a listed finite group, got {came}.")
