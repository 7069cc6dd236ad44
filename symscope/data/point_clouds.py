"""Rotations and reflections of point clouds, in the plane and in space."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.data._action import Action
from symscope.errors import InputError
from symscope.groups import FiniteGroup, cyclic, dihedral, from_matrices
from symscope.numerics import checked

__all__ = ["centred", "is_dihedral", "plane_matrices", "point_flip", "point_rotation"]


@checked
def point_rotation(group: FiniteGroup, dimension: int = 3) -> Action:
    """A group turning, or mirroring, the points of clouds `[..., points, columns]`.

    `(g x)_p = rho(g) x_p` on the first `dimension` columns, the coordinates; further columns, such as types
    of atoms, stay as they are. T, O, I, with inversion or without, turn space; C<n> turns the plane, in space
    about the z axis; D<n> also mirrors y.

    Args:
        group: A group that turns the plane or space.
        dimension: Coordinates of a point, 2 or 3.

    Raises:
        InputError: Another dimension, or a group that does not turn it; when used, clouds with fewer columns,
            or of whole numbers.

    >>> from symscope.groups import parse
    >>> quarter = point_rotation(parse("C4"), 2)
    >>> (quarter.act(1, torch.tensor([[2.0, 0.0], [0.0, 3.0]])).round() + 0.0).tolist()
    [[0.0, 2.0], [-3.0, 0.0]]
    >>> point_rotation(parse("I")).group.order
    60
    """
    if dimension not in (2, 3):
        raise InputError(f"expected points with 2 or 3 coordinates, got {dimension}.")
    return Action("points", group, PointTransform(_matrices(group, dimension)), 2)


@checked
def point_flip(axis: str = "x", dimension: int = 3) -> Action:
    """C2, mirroring one coordinate of every point: the control for what a mirror must not change, or must.

    Args:
        axis: "x", "y" or "z".
        dimension: Coordinates of a point, 2 or 3.

    Raises:
        InputError: Another axis or dimension.

    >>> point_flip("y", 2).act(1, torch.tensor([[2.0, 5.0]])).tolist()
    [[2.0, -5.0]]
    """
    axes = "xyz"[:dimension]
    if dimension not in (2, 3) or axis not in tuple(axes):
        raise InputError(f"expected an axis {', '.join(axes)} of 2 or 3, got {axis!r} of {dimension}.")
    both = torch.eye(dimension, dtype=torch.float64).repeat(2, 1, 1)
    both[1, axes.index(axis), axes.index(axis)] = -1
    return Action(f"flip-{axis}", cyclic(2), PointTransform(both), 2)


@final
@dataclass(frozen=True, eq=False)
class PointTransform:
    """The transform of `point_rotation`: matrices `[order, d, d]` on the first d columns."""

    matrices: Float64[Tensor, "n d d"]

    def __call__(self, g: Tensor, x: Tensor) -> Tensor:
        size = self.matrices.shape[-1]
        if x.shape[-1] < size:
            raise InputError(
                f"expected point clouds [..., points, {size} coordinates or more], got {tuple(x.shape)}."
            )
        if not x.is_floating_point():
            raise InputError(f"expected floating-point coordinates to turn, got {x.dtype}.")
        turned = x[..., :size] @ self.matrices.to(x.device, x.dtype)[g].mT
        if x.shape[-1] == size:
            return turned
        return torch.cat([turned, x[..., size:].expand(*turned.shape[:-1], -1)], dim=-1)


@checked
def centred(x: Tensor, dimension: int | None = None) -> Tensor:
    """Clouds with the mean of their points at the origin: what is left when translations do not matter.

    Commutes with every rotation, reflection and permutation of the points.

    Args:
        x: Clouds `[..., points, columns]`.
        dimension: How many of the first columns are coordinates; all when not given.

    Raises:
        InputError: No points.

    >>> centred(torch.tensor([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    if x.ndim < 2 or 0 in x.shape[-2:]:
        raise InputError(
            f"expected clouds [..., points, coordinates] of one point or more, got {tuple(x.shape)}."
        )
    size = x.shape[-1] if dimension is None else dimension
    places = x[..., :size]
    return torch.cat([places - places.mean(-2, keepdim=True), x[..., size:]], dim=-1)


def _matrices(group: FiniteGroup, dimension: int) -> Float64[Tensor, "n d d"]:
    """How a group turns the plane or space, by its own matrices or as C<n> and D<n> do."""
    own = group.matrices
    if own is not None and own.shape[-1] == dimension and not own.is_complex():
        return from_matrices(group, own).matrices
    if own is None and (flat := plane_matrices(group)) is not None:
        if dimension == 2:
            return flat
        space = torch.eye(3, dtype=torch.float64).repeat(group.order, 1, 1)
        space[:, :2, :2] = flat
        return space
    fits = "C<n> or D<n>" if dimension == 2 else "T, O, I, Th, Oh, Ih; C<n> or D<n> about the z axis"
    raise InputError(
        f"expected a group that turns points in {dimension} dimensions, got {group.name}: {fits}."
    )


def plane_matrices(group: FiniteGroup) -> Float64[Tensor, "n 2 2"] | None:
    """C<n> and D<n> as rotations of the plane by 360°/n, and reflections of y; None for other groups."""
    turning = group.cyclic_factors is not None and len(group.cyclic_factors) == 1
    if not turning and not is_dihedral(group):
        return None
    count = group.order if turning else group.order // 2
    angles = 2 * math.pi * torch.arange(count, dtype=torch.float64) / count
    c, s = angles.cos(), angles.sin()
    if count % 2 == 0:  # half and quarter turns are exact
        s[:: count // 2] = 0.0
    if count % 4 == 0:
        c[count // 4 :: count // 2] = 0.0
    turns = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)
    if turning:
        return turns
    return torch.cat([turns, turns @ torch.diag(torch.tensor([1.0, -1.0], dtype=torch.float64))])


def is_dihedral(group: FiniteGroup) -> bool:
    """Whether products with the generators r and s, of which all others are made, are those of D_n."""
    if group.order % 2:
        return False
    n = group.order // 2
    elements, steps = torch.arange(group.order)[:, None], torch.tensor([1, n])
    return torch.equal(group.law(elements, steps), dihedral(n).law(elements, steps))
