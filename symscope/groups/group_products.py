"""Groups made from groups: direct and semidirect products."""

from __future__ import annotations

from functools import partial

import torch
from jaxtyping import Int64
from torch import Tensor

from symscope.errors import InputError
from symscope.groups._finite_group import LARGEST_TABLE, FiniteGroup, check_finite_group, check_order
from symscope.groups._group_laws import PairLaw, TableLaw
from symscope.numerics import checked

__all__ = ["direct_product", "semidirect_product"]


@checked
def direct_product(left: FiniteGroup, right: FiniteGroup) -> FiniteGroup:
    """G x H: element `a * |H| + b` is the pair (a, b).

    >>> from symscope.groups import cyclic
    >>> z = direct_product(cyclic(14), cyclic(14)); z.name, z.order, z.cyclic_factors
    ('C14xC14', 196, (14, 14))
    """
    left, right = check_finite_group(left), check_finite_group(right)
    if right.factors is not None and right.name == "x".join(factor.name for factor in right.factors):
        first, second = right.factors  # A x (B x C) is (A x B) x C, as its name is read
        return direct_product(direct_product(left, first), second)
    m = right.order
    name = f"{left.name}x{right.name}"
    check_order(name, left.order * m)
    cyclic = (
        left.cyclic_factors + right.cyclic_factors
        if left.cyclic_factors is not None and right.cyclic_factors is not None
        else None
    )
    return FiniteGroup(
        name,
        PairLaw(left.law, right.law),
        tuple(g * m for g in left.generators) + right.generators,
        tuple(f"({a}, {b})" for a in left.labels for b in right.labels),
        partial(_move_both, left, right),
        cyclic_factors=cyclic,
        factors=(left, right),
    )


def _move_both(left: FiniteGroup, right: FiniteGroup, elements: Int64[Tensor, "k"]) -> Int64[Tensor, "k d"]:
    """The points of both factors, those of the right one after those of the left one."""
    a, b = left.move(elements // right.order), right.move(elements % right.order)
    return torch.cat([a, b + left.degree], dim=1)


@checked
def semidirect_product(
    normal: FiniteGroup, acting: FiniteGroup, automorphisms: Int64[Tensor, "h n"]
) -> FiniteGroup:
    """N : H with `(a, g)(b, h) = (a . g(b), g h)`; element `a * |H| + g` is the pair (a, g).

    Args:
        normal: N, the normal subgroup.
        acting: H.
        automorphisms: `automorphisms[g, b]` is g(b): for each element of H an automorphism of N.

    Raises:
        InputError: A row is not an automorphism of N, or the rows do not compose as H does.

    >>> from symscope.groups import cyclic
    >>> powers = torch.stack([torch.arange(7) * p % 7 for p in (1, 2, 4)])  # b -> 2b has order 3 on C7
    >>> semidirect_product(cyclic(7), cyclic(3), powers).is_abelian
    False
    """
    normal, acting = check_finite_group(normal), check_finite_group(acting)
    n, m = normal.order, acting.order
    check_order(f"{normal.name}:{acting.name}", n * m, LARGEST_TABLE)
    if tuple(automorphisms.shape) != (m, n):
        raise InputError(
            f"expected automorphisms of shape ({m}, {n}), one row per element of {acting.name}, got "
            f"{tuple(automorphisms.shape)}."
        )
    for g in range(m):
        image = automorphisms[g]
        if not torch.equal(image.sort().values, torch.arange(n)):
            raise InputError(
                f"expected row {g} to permute the elements of {normal.name}, got {image.tolist()[:12]}."
            )
        if not torch.equal(image[normal.table], normal.table[image][:, image]):
            raise InputError(
                f"expected row {g} to be an automorphism of {normal.name}: it does not keep products."
            )
    composed = automorphisms[:, automorphisms]
    if not torch.equal(composed, automorphisms[acting.table]):
        g, h = (composed != automorphisms[acting.table]).any(dim=2).nonzero()[0].tolist()
        raise InputError(
            f"expected automorphisms that compose as {acting.name} does; applying {acting.labels[h]} then "
            f"{acting.labels[g]} is not what {acting.labels[acting.multiply(g, h)]} does."
        )
    a = torch.arange(n).repeat_interleave(m)
    b = torch.arange(m).repeat(n)
    table = normal.table[a[:, None], automorphisms[b[:, None], a]] * m + acting.table[b[:, None], b]
    return FiniteGroup(
        f"({normal.name}:{acting.name})",
        TableLaw(table),
        tuple(x * m for x in normal.generators) + acting.generators,
        tuple(f"({normal.labels[i]}, {acting.labels[j]})" for i in range(n) for j in range(m)),
    )
