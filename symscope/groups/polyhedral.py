"""The rotation groups of the regular solids, with and without inversion, as exact 3 x 3 matrices.

For whoever turns points in space. All stand in one frame, with axes of order two along x, y and z, so that T
is part of O and of I. `group.matrices` are their representations on R^3, correctly rounded entry by entry.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, partial

import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.groups._finite_group import FiniteGroup
from symscope.groups._generated import from_generators
from symscope.groups._group_laws import CyclicLaw, PairLaw, listed_moves

__all__ = ["icosahedral", "octahedral", "tetrahedral"]

GOLDEN = (1 + math.sqrt(5)) / 2
ENTRIES = (0.0, 0.5, 1.0, GOLDEN / 2, (GOLDEN - 1) / 2)  # every entry of every matrix, up to its sign
CYCLE = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))  # x -> y -> z -> x, a third of a turn


@cache
def tetrahedral(inversion: bool = False) -> FiniteGroup:
    """T, the 12 rotations of the tetrahedron, moving its 4 corners; Th, 24 elements, with inversion.

    >>> t = tetrahedral(); t.order, t.degree, t.labels[:3]
    (12, 4, ('e', '180° about z', '120° about (1, 1, 1)'))
    """
    half_turn = ((-1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0))
    corners = torch.tensor([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=torch.float64)
    return _solid("T", (half_turn, CYCLE), corners, inversion)


@cache
def octahedral(inversion: bool = False) -> FiniteGroup:
    """O, the 24 rotations of the cube, moving its 6 faces; Oh, 48 elements, with inversion.

    >>> o = octahedral(); o.order, tuple(o.permutations.shape), tuple(o.matrices.shape)
    (24, (24, 6), (24, 3, 3))
    """
    about_z = ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    about_x = ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0))
    faces = torch.cat([torch.eye(3), -torch.eye(3)]).to(torch.float64)
    return _solid("O", (about_z, about_x), faces, inversion)


@cache
def icosahedral(inversion: bool = False) -> FiniteGroup:
    """I, the 60 rotations of the icosahedron, moving its 12 corners; Ih, 120 elements, with inversion.

    The largest finite group of rotations without a special axis.

    >>> i = icosahedral(); i.order, i.degree, sorted(set(i.element_orders.tolist()))
    (60, 12, [1, 2, 3, 5])
    """
    small, large = (GOLDEN - 1) / 2, GOLDEN / 2
    fifth = ((small, -large, 0.5), (large, 0.5, small), (-0.5, small, large))  # of a turn, about (0, 1, phi)
    ends = [(0.0, a, b * GOLDEN) for a in (1.0, -1.0) for b in (1.0, -1.0)]
    corners = torch.tensor([end[k:] + end[:k] for k in range(3) for end in ends], dtype=torch.float64)
    return _solid("I", (fifth, CYCLE), corners, inversion)


def _solid(
    name: str, generators: Sequence[Sequence[Sequence[float]]], corners: Tensor, inversion: bool
) -> FiniteGroup:
    made = from_generators(torch.tensor(generators, dtype=torch.float64), name=name)
    assert made.matrices is not None
    matrices = _exact(made.matrices)
    labels = tuple(_turn_name(matrix) for matrix in matrices)
    turns = FiniteGroup(
        name, made.law, made.generators, labels, _moving(matrices, corners), matrices=matrices
    )
    if not inversion:
        return turns
    two = FiniteGroup("C2", CyclicLaw(2), (1,), ("e", "r"), cyclic_factors=(2,))
    both = torch.cat([matrices, -matrices])  # rotations first, as in D<n>
    if name == "T":
        corners = torch.cat([corners, -corners])
    return FiniteGroup(
        f"{name}h",
        PairLaw(two.law, turns.law),
        (turns.order, *turns.generators),
        (*labels, *map(_inverted_name, labels)),
        _moving(both, corners),
        factors=(two, turns),
        matrices=both,
    )


def _exact(matrices: Float64[Tensor, "n 3 3"]) -> Float64[Tensor, "n 3 3"]:
    """Products of a few matrices are off by rounding: each entry is set to the one it stands for."""
    known = torch.tensor(ENTRIES, dtype=torch.float64)
    away = (matrices.abs()[..., None] - known).abs()
    assert float(away.amin(-1).max()) < 1e-12, "every entry is one of the known numbers"
    return torch.copysign(known[away.argmin(-1)], matrices) + 0.0


def _moving(matrices: Tensor, corners: Tensor) -> partial[Tensor]:
    moved = torch.einsum("gij,cj->gci", matrices, corners)
    return partial(listed_moves, torch.einsum("gci,di->gcd", moved, corners).argmax(2))


def _turn_name(matrix: Float64[Tensor, "3 3"]) -> str:
    """`72° about (0, 0.62, 1)`: the axis has largest coordinate 1, its last that is not 0 is positive."""
    cosine = (float(matrix.trace()) - 1) / 2
    if cosine > 1 - 1e-9:
        return "e"
    symmetric = (matrix + matrix.T) / 2 - cosine * torch.eye(3, dtype=torch.float64)  # (1 - cosine) a a^T
    axis = symmetric[:, int(symmetric.diagonal().argmax())]
    axis = axis / axis.abs().max()
    axis = axis * axis[axis.abs() > 1e-9][-1].sign()
    turning = torch.stack(
        [matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]]
    )
    angle = math.degrees(math.atan2(float(turning @ axis) / float(2 * axis.norm()), cosine)) % 360
    single = axis.abs() > 1e-9
    where = (
        "xyz"[int(single.nonzero()[0])]
        if int(single.sum()) == 1
        else f"({', '.join(f'{round(float(a), 2) + 0.0:g}' for a in axis)})"
    )
    return f"{round(angle)}° about {where}"


def _inverted_name(label: str) -> str:
    if label == "e":
        return "inversion"
    if label.startswith("180° about "):
        return f"mirror across {label.removeprefix('180° about ')}"
    return f"inverted {label}"
