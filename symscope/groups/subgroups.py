"""What lives inside a finite group: conjugacy classes, subgroups, stabilisers, cosets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from jaxtyping import Int64
from torch import Tensor

from symscope.errors import InputError
from symscope.groups._finite_group import LARGEST_TABLE, FiniteGroup, check_finite_group, check_order
from symscope.groups._group_laws import TableLaw, generating_set, listed_moves, orbit_labels
from symscope.numerics import check_memory, checked

__all__ = ["as_group", "check_subgroup", "conjugacy_classes", "cosets", "is_normal", "stabiliser"]


@checked
def conjugacy_classes(group: FiniteGroup) -> tuple[Int64[Tensor, "_"], ...]:
    """The classes {h g h^-1}, each sorted, in the order of their first elements.

    >>> from symscope.groups import symmetric
    >>> [len(c) for c in conjugacy_classes(symmetric(4))]
    [1, 6, 8, 3, 6]
    """
    group = check_finite_group(group)
    if group.is_abelian:
        return torch.arange(group.order).split(1)
    everyone, gens = torch.arange(group.order), torch.tensor(group.generators)[:, None]
    labels = orbit_labels(group.law(group.law(gens, everyone), group.inverses[gens]))
    by_class = labels.argsort(stable=True)
    return by_class.split(torch.bincount(labels).tolist())


@checked
def check_subgroup(group: FiniteGroup, elements: Sequence[int] | Tensor) -> Int64[Tensor, "k"]:
    """The elements, sorted, after checking that they form a subgroup.

    Raises:
        InputError: They are not closed; the message says what they generate.
    """
    group = check_finite_group(group)
    given = torch.as_tensor(elements, dtype=torch.int64).reshape(-1).unique()
    closed = group.subgroup(given)
    if not torch.equal(given, closed):
        raise InputError(
            f"expected a subgroup of {group.name}; {given.tolist()[:12]} is not closed and generates "
            f"{len(closed)} elements. Use group.subgroup(elements) to close it."
        )
    return closed


@checked
def cosets(
    group: FiniteGroup, subgroup: Sequence[int] | Tensor, side: str = "left"
) -> Int64[Tensor, "index k"]:
    """The cosets gH (`side="left"`) or Hg (`"right"`), one per row, its representative first.

    >>> from symscope.groups import cyclic
    >>> cosets(cyclic(6), [0, 3]).tolist()
    [[0, 3], [1, 4], [2, 5]]
    """
    h = check_subgroup(group, subgroup)
    if side not in ("left", "right"):
        raise InputError(f"expected side 'left' or 'right', got {side!r}.")
    everyone = torch.arange(group.order)[:, None]
    check_memory(f"the {side} cosets in {group.name}", 8 * group.order * len(h), "take a smaller subgroup")
    every = group.law(everyone, h) if side == "left" else group.law(h, everyone)
    smallest = every.min(dim=1).values
    representatives = (smallest == torch.arange(group.order)).nonzero()[:, 0]
    rows = every[representatives]
    return rows.sort(dim=1).values


@checked
def stabiliser(group: FiniteGroup, point: int) -> Int64[Tensor, "k"]:
    """The elements that keep one of the points the group permutes where it is.

    >>> from symscope.groups import dihedral
    >>> [dihedral(4).labels[g] for g in stabiliser(dihedral(4), 0)]
    ['e', 's']
    """
    points = check_finite_group(group).degree
    if not 0 <= point < points:
        raise InputError(
            f"expected a point from 0 to {points - 1}, which {group.name} permutes, got {point}."
        )
    return (group.permutations[:, point] == point).nonzero()[:, 0]


@checked
def is_normal(group: FiniteGroup, subgroup: Sequence[int] | Tensor) -> bool:
    """Whether left and right cosets of the subgroup agree.

    >>> from symscope.groups import dihedral
    >>> is_normal(dihedral(4), [0, 2]), is_normal(dihedral(4), [0, 4])
    (True, False)
    """
    return torch.equal(cosets(group, subgroup, "left"), cosets(group, subgroup, "right"))


@checked
def as_group(group: FiniteGroup, subgroup: Sequence[int] | Tensor, name: str | None = None) -> FiniteGroup:
    """A subgroup as a group of its own; its element i is the i-th smallest element of the subgroup.

    >>> from symscope.groups import dihedral
    >>> as_group(dihedral(4), [0, 1, 2, 3]).is_abelian
    True
    """
    h = check_subgroup(group, subgroup)
    position = torch.full((group.order,), -1)
    position[h] = torch.arange(len(h))
    check_order(f"the subgroup of {group.name}", len(h), LARGEST_TABLE)
    table = position[group.law(h[:, None], h)]
    generators, _ = generating_set(group.law, h)
    return FiniteGroup(
        name or f"subgroup of {group.name} of order {len(h)}",
        TableLaw(table),
        tuple(int(position[g]) for g in generators),
        tuple(group.labels[g] for g in h.tolist()),
        partial(listed_moves, group.move(h)),
        matrices=None if group.matrices is None else group.matrices[h],
    )
