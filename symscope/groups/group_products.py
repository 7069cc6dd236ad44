"""Groups made from groups: direct and semidirect products."""

from __future__ import annotations

import torch
from jaxtyping import Int64
from torch import Tensor

from symscope.errors import InputError
from symscope.groups._finite_group import FiniteGroup, check_finite_group

__all__ = ["direct_product", "semidirect_product"]


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
    a = torch.arange(left.order).repeat_interleave(m)
    b = torch.arange(m).repeat(left.order)
    table = left.table[a[:, None], a] * m + right.table[b[:, None], b]
    points = torch.cat([left.permutations[a], right.permutations[b] + left.permutations.shape[1]], dim=1)
    cyclic = (
        left.cyclic_factors + right.cyclic_factors
        if left.cyclic_factors is not None and right.cyclic_factors is not None
        else None
    )
    return FiniteGroup(
        f"{left.name}x{right.name}",
        table,
        points,
        tuple(g * m for g in left.generators) + right.generators,
        tuple(f"({left.labels[i]}, {right.labels[j]})" for i in left.elements for j in right.elements),
        cyclic_factors=cyclic,
        factors=(left, right),
    )


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
        table,
        table,
        tuple(x * m for x in normal.generators) + acting.generators,
        tuple(f"({normal.labels[i]}, {acting.labels[j]})" for i in range(n) for j in range(m)),
    )
