"""Finite groups that stand for continuous ones, and what they are exact for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import final

from symscope.errors import InputError
from symscope.groups._finite_group import FiniteGroup
from symscope.groups.compact import CompactGroup
from symscope.groups.group_products import direct_product
from symscope.groups.named_groups import cyclic, dihedral
from symscope.groups.polyhedral import icosahedral
from symscope.numerics import checked

__all__ = ["FinitePart", "finite_part"]

STEPS = 16  # once around; exact to frequency 7, as fine as most data shows
ICOSAHEDRAL_DEGREE = 5  # the icosahedron's first invariant beside the constant has degree 6


@final
@dataclass(frozen=True)
class FinitePart:
    """A finite subgroup that stands for a continuous group.

    Attributes:
        group: The finite subgroup.
        band_limit: Frequency, or degree, up to which it is exact, as `text` says.
        text: What stands for what, and what that is exact for.
    """

    group: FiniteGroup
    band_limit: int
    text: str


@checked
def finite_part(group: CompactGroup, steps: Sequence[int] | None = None) -> FinitePart:
    """The finite subgroup to compute with in place of SO(2), O(2), SO(3), O(3) or a torus.

    n equal steps determine a function of the angle whose frequencies are at most `(n - 1) / 2`: nothing is
    lost that it has. The icosahedral group averages functions on SO(3) of degree up to 5 exactly (Molien's
    series of I: the first invariant has degree 6); no finite group without a special axis does better.

    Args:
        group: The continuous group.
        steps: Number of steps around each circle; 16 when not given. SO(3) and O(3) take none.

    Raises:
        InputError: A group without a standard finite part.

    >>> from symscope.groups.compact import so
    >>> finite_part(so(2)).text
    'SO(2) through C16: exact for functions of the angle up to frequency 7'
    >>> finite_part(so(3)).group
    I (order 60)
    """
    name = group.name
    if name in ("SO(3)", "O(3)"):
        solid = icosahedral(inversion=name == "O(3)")
        text = f"{solid.order} elements: averages over it are exact up to degree {ICOSAHEDRAL_DEGREE}"
        return FinitePart(solid, ICOSAHEDRAL_DEGREE, f"{name} through {solid.name}, {text}")
    circles = group.dimension if name == f"T{group.dimension}" else 1
    counts = (STEPS,) * circles if steps is None else tuple(steps)
    if name not in ("SO(2)", "O(2)", f"T{group.dimension}"):
        raise InputError(
            f"expected SO(2), O(2), SO(3), O(3) or a torus, which have a standard finite part, got {name}; "
            "name a finite group."
        )
    if len(counts) != circles:
        raise InputError(f"expected {circles} numbers of steps for {name}, got {len(counts)}.")
    make = dihedral if name == "O(2)" else cyclic
    part = reduce(direct_product, map(make, counts))
    limit = (min(counts) - 1) // 2
    angle = "the angle" if circles == 1 else "each angle"
    return FinitePart(
        part, limit, f"{name} through {part.name}: exact for functions of {angle} up to frequency {limit}"
    )
