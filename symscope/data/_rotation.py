"""Rotations and reflections of square images as actions of C_n and D_n."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from symscope.data._action import Action, gather_points
from symscope.data._spline import SplineRotation, check_square, quarter_turns
from symscope.data.periodic import OrthogonalRotation
from symscope.errors import InputError, nearest
from symscope.groups import cyclic
from symscope.groups import dihedral as dihedral_group
from symscope.numerics import checked

METHODS = ("spline", "orthogonal")


@checked
def rotation(n: int, method: str = "spline") -> Action:
    """C_n turning square images `[..., h, h]`: element k rotates by 360 k / n degrees, counter-clockwise.

    Counter-clockwise with row 0 at the top, as in `torch.rot90(x, 1, (-2, -1))` and
    `scipy.ndimage.rotate(x, angle, axes=(-2, -1), reshape=False)`.

    - "spline": the numbers of `scipy.ndimage.rotate` (cubic, zero outside). Each element is one
      interpolation of the original; `g (h x)` and `(g h) x` differ by some per cent of x. Multiples of 90
      degrees are exact.
    - "orthogonal": the group action by orthogonal matrices nearest to the spline rotations: `R^n = 1`,
      `|R x| = |x|` and `R^(n/4) = rot90` to rounding (see `periodic.rotation_basis`, which also says when the
      last is impossible). Images up to 64x64.

    When n is 1, 2 or 4 both permute pixels exactly, in any dtype. Measurements are in
    `docs/guides/rotations.md`.

    Args:
        n: Number of steps in a full turn.
        method: "spline" or "orthogonal".

    Raises:
        InputError: n below 1 or an unknown method; when used, images that are not square, not finite or,
            unless n is 1, 2 or 4, not floating point.

    >>> image = torch.tensor([[0.0, 1.0], [2.0, 3.0]])
    >>> rotation(8).act(2, image).tolist()
    [[1.0, 3.0], [0.0, 2.0]]
    >>> rotation(8, "orthogonal").group
    C8 (order 8)
    """
    turn = _turning(n, method, mirrored=False)
    return Action(_named("rotation", n, method), cyclic(n), turn, 2)


@checked
def dihedral_action(n: int, method: str = "spline") -> Action:
    """D_n on square images: element k < n rotates by 360 k / n degrees, element n + k mirrors first.

    The mirror s reverses the columns (left and right change places); n = 1, 2 and 4 are exact in any dtype.
    With "orthogonal" both `s^2 = 1` and `s r s = r^-1` hold to rounding.

    Args:
        n: Number of steps in a full turn.
        method: "spline" or "orthogonal", as for `rotation`.

    Raises:
        InputError: As in `rotation`.

    >>> dihedral_action(4).act(4, torch.tensor([[1, 2], [3, 4]])).tolist()
    [[2, 1], [4, 3]]
    """
    turn = _turning(n, method, mirrored=True)
    return Action(_named("dihedral", n, method), dihedral_group(n), Mirrored(n, turn), 2)


@final
@dataclass(frozen=True)
class QuarterTurns:
    """The transform of C_1, C_2 and C_4: pixels permuted, nothing interpolated."""

    n: int

    def __call__(self, g: Tensor, x: Tensor) -> Tensor:
        check_square(x)
        sources = quarter_turns(x.shape[-1]).to(x.device)[g * (4 // self.n)]
        return gather_points(x.flatten(-2), sources).unflatten(-1, x.shape[-2:])


@final
@dataclass(frozen=True)
class Mirrored:
    """The transform of D_n from one of C_n: r^k s x is the mirrored image, then turned."""

    n: int
    turn: Callable[[Tensor, Tensor], Tensor]

    def __call__(self, g: Tensor, x: Tensor) -> Tensor:
        mirrored = torch.where((g >= self.n)[..., None, None], x.flip(-1), x)
        return self.turn(g % self.n, mirrored)


def _turning(n: int, method: str, mirrored: bool) -> Callable[[Tensor, Tensor], Tensor]:
    if n < 1:
        raise InputError(f"expected a positive number of steps in a full turn, got {n}.")
    if method not in METHODS:
        raise InputError(
            f"expected method 'spline' or 'orthogonal', got {method!r}; {nearest(method, METHODS)}"
        )
    if n in (1, 2, 4):
        return QuarterTurns(n)
    return SplineRotation(n) if method == "spline" else OrthogonalRotation(n, mirrored)


def _named(what: str, n: int, method: str) -> str:
    return what if n in (1, 2, 4) or method == "spline" else f"{what}:{method}"
