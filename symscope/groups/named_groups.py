"""The groups everybody knows by name, and the grammar of names: `C8`, `C14xC14`, `SO(3)`, `C4xSO(2)`."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from functools import partial, reduce

import torch
from jaxtyping import Int64
from torch import Tensor

from symscope.errors import InputError, nearest
from symscope.groups._finite_group import LARGEST_ORDER, FiniteGroup
from symscope.groups._group_laws import CyclicLaw, DihedralLaw, PermutationLaw, TableLaw, listed_moves
from symscope.groups._permutation import LARGEST_DEGREE, PermutationGroup
from symscope.groups.compact import CompactGroup, compact_product, o, so, torus
from symscope.groups.group_products import direct_product
from symscope.groups.polyhedral import icosahedral, octahedral, tetrahedral
from symscope.numerics import check_count, shortened

__all__ = ["alternating", "cyclic", "dihedral", "quaternion", "symmetric"]

LARGEST_LISTED_DEGREE = 7  # 7! = 5,040


def cyclic(n: int) -> FiniteGroup:
    """C_n, the rotations of a regular n-gon: element k is r^k.

    >>> cyclic(8).multiply(5, 6)
    3
    """
    n = check_count("n of C<n>", n, 1, LARGEST_ORDER)
    labels = tuple(_power("r", i) for i in range(n))
    return FiniteGroup(f"C{n}", CyclicLaw(n), (1,) if n > 1 else (), labels, cyclic_factors=(n,))


def dihedral(n: int) -> FiniteGroup:
    """D_n, the symmetries of a regular n-gon, order 2n: element k < n is r^k, element n + k is r^k s.

    `s r = r^-1 s`. It permutes the n corners: r moves each to the next, s sends corner v to -v.

    >>> g = dihedral(3); g.order, g.is_abelian
    (6, False)
    """
    n = check_count("n of D<n>", n, 1, LARGEST_ORDER // 2)
    labels = [_power("r", i) for i in range(n)]
    labels += [" ".join(w for w in (_power("r", i) if i else "", "s") if w) for i in range(n)]
    # on fewer than three corners the reflection acts as a rotation does: act on the group itself instead
    moves = partial(_move_corners, n) if n > 2 else None
    return FiniteGroup(f"D{n}", DihedralLaw(n), (1, n) if n > 1 else (1,), tuple(labels), moves)


def symmetric(n: int) -> FiniteGroup | PermutationGroup:
    """S_n, all permutations of n points, in lexicographic order; beyond S7 not listed, only generated.

    >>> symmetric(4).order, symmetric(10).order
    (24, 3628800)
    """
    n = check_count("n of S<n>", n, 1, LARGEST_DEGREE)
    if n > LARGEST_LISTED_DEGREE:
        turn = torch.roll(torch.arange(n), -1)
        swap = torch.tensor([1, 0, *range(2, n)])
        return PermutationGroup(f"S{n}", torch.stack([turn, swap]), math.factorial(n))
    perms = torch.tensor(list(itertools.permutations(range(n))))
    return _listed_permutations(f"S{n}", perms, [[1, 0, *range(2, n)], [*range(1, n), 0]] if n > 1 else [])


def alternating(n: int) -> FiniteGroup | PermutationGroup:
    """A_n, the even permutations of n points, in lexicographic order; beyond A7 only generated.

    >>> alternating(4).order
    12
    """
    n = check_count("n of A<n>", n, 1, LARGEST_DEGREE)
    triples = [[1, i, *range(2, i), 0, *range(i + 1, n)] for i in range(2, n)]  # 0 -> 1 -> i -> 0
    if n > LARGEST_LISTED_DEGREE:
        return PermutationGroup(f"A{n}", torch.tensor(triples), math.factorial(n) // 2)
    even = [p for p in itertools.permutations(range(n)) if _is_even(p)]
    return _listed_permutations(f"A{n}", torch.tensor(even), triples)


def quaternion() -> FiniteGroup:
    """Q8 = {+-1, +-i, +-j, +-k}: the smallest group with an irrep that cannot be made real.

    >>> q = quaternion(); q.order, sorted(q.element_orders.tolist())
    (8, [1, 2, 4, 4, 4, 4, 4, 4])
    """
    units = torch.zeros(4, 4, 4, dtype=torch.int64)  # units[a, b, c]: coefficient of c in ab, for 1, i, j, k
    for a in range(4):
        units[0, a, a] = units[a, 0, a] = 1
        units[a, a, 0] = -1 if a else 1
    for a, b, c in ((1, 2, 3), (2, 3, 1), (3, 1, 2)):
        units[a, b, c], units[b, a, c] = 1, -1
    product = units.abs().argmax(dim=2)
    sign = units.sum(dim=2)
    signs = torch.tensor([1, -1]).repeat(4)
    index = torch.arange(4).repeat_interleave(2)
    total = sign[index[:, None], index] * signs[:, None] * signs
    table = 2 * product[index[:, None], index] + (total < 0).to(torch.int64)
    return FiniteGroup("Q8", TableLaw(table), (2, 4), ("1", "-1", "i", "-i", "j", "-j", "k", "-k"))


def _listed_permutations(name: str, perms: torch.Tensor, generators: list[list[int]]) -> FiniteGroup:
    law = PermutationLaw(perms)
    steps = torch.tensor(generators, dtype=torch.int64).reshape(-1, perms.shape[1])
    gens = tuple(dict.fromkeys(law.positions(steps).tolist()))
    labels = tuple(_cycles(p) for p in perms.tolist())
    factors = (law.order,) if law.order <= 2 else None
    return FiniteGroup(name, law, gens, labels, partial(listed_moves, perms), factors)


def _move_corners(n: int, elements: Int64[Tensor, "k"]) -> Int64[Tensor, "k n"]:
    corners, mirrored = torch.arange(n), elements[:, None] >= n
    return (elements[:, None] + torch.where(mirrored, -corners, corners)) % n


def _is_even(p: tuple[int, ...]) -> bool:
    return sum(p[i] > p[j] for i in range(len(p)) for j in range(i + 1, len(p))) % 2 == 0


def _cycles(p: list[int]) -> str:
    """Cycle notation: `(0 1)(2 3 4)`, `e` for the identity."""
    seen: set[int] = set()
    text = ""
    for start in range(len(p)):
        cycle, at = [], start
        while at not in seen:
            seen.add(at)
            cycle.append(str(at))
            at = p[at]
        if len(cycle) > 1:
            text += f"({' '.join(cycle)})"
    return text or "e"


def _power(letter: str, k: int) -> str:
    return "e" if k == 0 else letter if k == 1 else f"{letter}^{k}"


Group = FiniteGroup | PermutationGroup | CompactGroup

GRAMMAR: dict[str, str] = {
    "C<n>": "cyclic: rotations by n steps (Z<n> is read too)",
    "D<n>": "dihedral: rotations and reflections of an n-gon, order 2n",
    "S<n>": "symmetric: all permutations of n points (not listed beyond S7)",
    "A<n>": "alternating: even permutations of n points (not listed beyond A7)",
    "Q8": "quaternion",
    "T, O, I": "rotations of the tetrahedron (12), the cube (24), the icosahedron (60)",
    "Th, Oh, Ih": "the same with inversion",
    "SO(<n>), O(<n>)": "rotations, rotations and reflections of n-space",
    "T<k>": "torus: k independent rotations",
    "GxH": "direct product, as in C14xC14 or S4xSO(3)",
}

LARGEST_NAME = 128  # characters: some twenty factors; the numbers in it are then read at once

_FAMILIES: dict[str, Callable[[int], Group]] = {
    "C": cyclic,
    "Z": cyclic,
    "D": dihedral,
    "S": symmetric,
    "A": alternating,
    "T": torus,
}
_SOLIDS = {"T": tetrahedral, "O": octahedral, "I": icosahedral}
_EXAMPLES = ("C8", "D4", "S3", "A4", "Q8", "T", "O", "I", "Oh", "Ih", "T2", "SO(2)", "SO(3)", "O(2)", "O(3)")


def parse(text: str) -> Group:
    """The group with a given name; `parse(g.name) == g` for every group that has a name in the grammar.

    Raises:
        InputError: Not a name, and the message suggests the nearest one; or a group too large to build.

    >>> parse("C14xC14").order, parse("S3").order, parse("O").order, parse("SO(3)").dimension
    (196, 6, 24, 3)
    """
    if not isinstance(text, str):
        raise InputError(f"expected the name of a group, such as 'C8', got {shortened(text)}.")
    if len(text) > LARGEST_NAME:
        raise InputError(
            f"expected the name of a group in at most {LARGEST_NAME} characters, got {len(text)}, beginning "
            f"{text[:16]!r}: use fewer factors."
        )
    return reduce(_product, (_factor(part, text) for part in text.strip().split("x")))


def _product(a: Group, b: Group) -> Group:
    if isinstance(a, FiniteGroup) and isinstance(b, FiniteGroup):
        return direct_product(a, b)
    return compact_product(a, b)


def _factor(text: str, whole: str) -> Group:
    text = text.strip()
    if match := re.fullmatch(r"([TOI])(h?)", text):
        return _SOLIDS[match[1]](bool(match[2]))
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
