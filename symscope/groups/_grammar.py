"""Names of groups: `C8`, `D4`, `S3`, `C14xC14`, `O`, `SO(3)`, `C4xSO(2)`, read and written exactly."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce

from symscope.errors import InputError, nearest
from symscope.groups._finite_group import FiniteGroup
from symscope.groups._permutation import PermutationGroup
from symscope.groups.compact import CompactGroup, compact_product, o, so, torus
from symscope.groups.group_products import direct_product
from symscope.groups.named_groups import alternating, cyclic, dihedral, octahedral, quaternion, symmetric

Group = FiniteGroup | PermutationGroup | CompactGroup

GRAMMAR: dict[str, str] = {
    "C<n>": "cyclic: rotations by n steps (Z<n> is read too)",
    "D<n>": "dihedral: rotations and reflections of an n-gon, order 2n",
    "S<n>": "symmetric: all permutations of n points (not listed beyond S7)",
    "A<n>": "alternating: even permutations of n points (not listed beyond A7)",
    "Q8": "quaternion",
    "O": "octahedral: the 24 rotations of the cube",
    "SO(<n>), O(<n>)": "rotations, rotations and reflections of n-space",
    "T<k>": "torus: k independent rotations",
    "GxH": "direct product, as in C14xC14 or S4xSO(3)",
}

_FAMILIES: dict[str, Callable[[int], Group]] = {
    "C": cyclic,
    "Z": cyclic,
    "D": dihedral,
    "S": symmetric,
    "A": alternating,
    "T": torus,
}
_EXAMPLES = ("C8", "D4", "S3", "A4", "Q8", "O", "T2", "SO(2)", "SO(3)", "O(2)", "O(3)")


def parse(text: str) -> Group:
    """The group with a given name; `parse(g.name) == g` for every group that has a name in the grammar.

    Raises:
        InputError: Not a name; the message suggests the nearest one.

    >>> parse("C14xC14").order, parse("S3").order, parse("O").order, parse("SO(3)").dimension
    (196, 6, 24, 3)
    """
    parts = [_factor(part, text) for part in text.strip().split("x")]
    return reduce(_product, parts)


def _product(a: Group, b: Group) -> Group:
    if isinstance(a, FiniteGroup) and isinstance(b, FiniteGroup):
        return direct_product(a, b)
    return compact_product(a, b)


def _factor(text: str, whole: str) -> Group:
    text = text.strip()
    if text == "O":
        return octahedral()
    if text == "Q8":
        return quaternion()
    if match := re.fullmatch(r"(SO|O)\((\d+)\)", text):
        return (so if match[1] == "SO" else o)(int(match[2]))
    if match := re.fullmatch(r"([CZDSAT])(\d+)", text):
        return _FAMILIES[match[1]](int(match[2]))
    raise InputError(f"expected the name of a group, got {text!r} in {whole!r}: {_suggestion(text)}")


def _suggestion(text: str) -> str:
    """The same family in the right spelling where it can be guessed, otherwise the grammar."""
    tidy = re.sub(r"[\s_^{}-]", "", text).upper()
    if match := re.fullmatch(r"(SO|O)\(?(\d+)\)?", tidy):
        return f"did you mean '{match[1]}({match[2]})'?"
    if match := re.fullmatch(
        r"(CYCLIC|DIHEDRAL|DIH|SYMMETRIC|SYM|ALTERNATING|ALT|TORUS|[CZDSAT])\(?(\d+)\)?", tidy
    ):
        letter = {"Z": "C"}.get(match[1][0], match[1][0])
        return f"did you mean '{letter}{match[2]}'?"
    if re.fullmatch(r"Q\d*", tidy):
        return "did you mean 'Q8'?"
    if re.search(r"[*×⨯,]", text):
        return f"did you mean {re.sub(r'[*×⨯,]', 'x', text)!r}?"
    hint = nearest(text, _EXAMPLES)
    return hint if hint.startswith("did") else f"names are {', '.join(GRAMMAR)}."
