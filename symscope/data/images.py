"""Exact actions on images `[..., h, w]`: cyclic shifts, flips, and any permutation of pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Int
from torch import Tensor

from symscope.data._action import Action, PointPermutation, gather_points
from symscope.errors import InputError
from symscope.groups import FiniteGroup, cyclic, direct_product, permutation
from symscope.numerics import checked

__all__ = [
    "flip",
    "flip_both",
    "pixel_permutation",
    "shift",
    "shift_both",
]


@checked
def shift(n: int, axis: str = "x") -> Action:
    """C_n moving images cyclically along one axis: element k moves them by k/n of the size.

    To the right along "x" (columns), down along "y" (rows), as `torch.roll` does; what leaves on one side
    comes back on the other. n must divide the size.

    Args:
        n: Number of steps once around.
        axis: "x" or "y".

    Raises:
        InputError: n below 1 or an unknown axis; when used, images whose size n does not divide.

    >>> shift(2, "y").act(1, torch.tensor([[1], [2], [3], [4]])).tolist()
    [[3], [4], [1], [2]]
    """
    _check_axis(axis)
    return Action(f"shift-{axis}", cyclic(n), CyclicShift(*((n, 1) if axis == "y" else (1, n))), 2)


@checked
def shift_both(rows: int, columns: int) -> Action:
    """C_rows x C_columns moving images cyclically along both axes; element `a * columns + b`.

    Args:
        rows: Number of steps once around downwards.
        columns: Number of steps once around to the right.

    Raises:
        InputError: A number below 1; when used, images whose size they do not divide.

    >>> shift_both(2, 2).act(3, torch.tensor([[1, 2], [3, 4]])).tolist()
    [[4, 3], [2, 1]]
    """
    return Action("shift", direct_product(cyclic(rows), cyclic(columns)), CyclicShift(rows, columns), 2)


@checked
def flip(axis: str = "x") -> Action:
    """C_2 mirroring images: "x" reverses the columns (left-right), "y" the rows (up-down).

    Raises:
        InputError: An unknown axis.

    >>> flip("y").act(1, torch.tensor([[1, 2], [3, 4]])).tolist()
    [[3, 4], [1, 2]]
    """
    _check_axis(axis)
    return Action(f"flip-{axis}", cyclic(2), Flips(*((True, False) if axis == "y" else (False, True))), 2)


def flip_both() -> Action:
    """C_2 x C_2 mirroring images: element `2 a + b` reverses the rows a times and the columns b times.

    >>> flip_both().act(3, torch.tensor([[1, 2], [3, 4]])).tolist()
    [[4, 3], [2, 1]]
    """
    return Action("flip", direct_product(cyclic(2), cyclic(2)), Flips(True, True), 2)


@checked
def pixel_permutation(group: FiniteGroup, permutations: Int[Tensor, "..."]) -> Action:
    """Any group moving pixels: `permutations[g, i]` is where g sends pixel i of the flattened image.

    Raises:
        InputError: Not one permutation per element, or the products do not agree with the group's; when
            used, images with another number of pixels.

    >>> from symscope.groups import cyclic
    >>> swap = pixel_permutation(cyclic(2), torch.tensor([[0, 1, 2, 3], [0, 3, 2, 1]]))
    >>> swap.act(1, torch.tensor([[1, 2], [3, 4]])).tolist()
    [[1, 4], [3, 2]]
    """
    if permutations.ndim != 2:
        raise InputError(
            f"expected permutations [{group.order}, pixels], one for each element of {group.name}, got shape "
            f"{tuple(permutations.shape)}."
        )
    points = permutations.to(torch.int64)
    permutation(group, points)  # checks that they are permutations and multiply as the group does
    return Action("pixels", group, PointPermutation(points[group.inverses], 2), 2)


@final
@dataclass(frozen=True)
class CyclicShift:
    """The transform of shifts: element `a * columns + b` moves by a/rows down and b/columns to the right."""

    rows: int
    columns: int

    def __call__(self, g: Tensor, x: Tensor) -> Tensor:
        height, width = x.shape[-2:]
        check_divides(self.rows, height, "height")
        check_divides(self.columns, width, "width")
        down = torch.div(g, self.columns, rounding_mode="floor") * (height // self.rows)
        right = g % self.columns * (width // self.columns)
        row = (torch.arange(height, device=x.device) - down[..., None]) % height
        column = (torch.arange(width, device=x.device) - right[..., None]) % width
        sources = (row[..., :, None] * width + column[..., None, :]).flatten(-2)
        return gather_points(x.flatten(-2), sources).unflatten(-1, (height, width))


@final
@dataclass(frozen=True)
class Flips:
    """The transform of mirrors along the rows, the columns, or both (element `2 a + b`)."""

    rows: bool
    columns: bool

    def __call__(self, g: Tensor, x: Tensor) -> Tensor:
        on = g[..., None, None]
        if self.rows and self.columns:
            x = torch.where(on >= 2, x.flip(-2), x)
            return torch.where(on % 2 == 1, x.flip(-1), x)
        return torch.where(on == 1, x.flip(-2 if self.rows else -1), x)


def check_divides(n: int, size: int, side: str) -> None:
    """Refuse shifts that would not move by whole pixels."""
    if size % n:
        fits = ", ".join(str(d) for d in range(1, size + 1) if size % d == 0)
        raise InputError(
            f"expected a number of shifts that divides the {side} {size} ({fits}), got {n}. "
            "Choose one of these, or pad the images."
        )


def _check_axis(axis: str) -> None:
    if axis not in ("x", "y"):
        raise InputError(f"expected axis 'x' (columns) or 'y' (rows), got {axis!r}.")
