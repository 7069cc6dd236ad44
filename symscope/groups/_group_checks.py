"""What most functions here ask of a group: that it is finite and its elements are listed."""

from __future__ import annotations

from symscope.errors import InputError
from symscope.groups._finite_group import FiniteGroup
from symscope.groups._permutation import PermutationGroup
from symscope.groups.compact import CompactGroup


def check_finite_group(group: object) -> FiniteGroup:
    """The group, after checking that it is a finite one with its elements listed.

    Raises:
        InputError: It is a group of another kind, the name of one, or no group.

    >>> from symscope.groups import cyclic
    >>> check_finite_group(cyclic(4))
    C4 (order 4)
    """
    match group:
        case FiniteGroup():
            return group
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
