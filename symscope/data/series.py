"""Shifts and reversals of series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from symscope.data._action import Action
from symscope.data.images import shift
from symscope.groups import dihedral
from symscope.numerics import checked

__all__ = ["shift_and_reverse"]


@checked
def shift_and_reverse(n: int) -> Action:
    """D_n on series `[..., channels, length]`: `r^k` shifts by k/n of the length, s reverses time.

    The reversal keeps the first moment in its place, `(s x)[t] = x[-t]`, cyclically.

    Args:
        n: Number of steps once around; it divides the length.

    Raises:
        InputError: n below 1; when used, series whose length n does not divide.

    >>> shift_and_reverse(4).act(torch.tensor([0, 1, 4, 5]), torch.tensor([[1, 2, 3, 4]])).tolist()
    [[[1, 2, 3, 4]], [[4, 1, 2, 3]], [[1, 4, 3, 2]], [[2, 1, 4, 3]]]
    """
    return Action("shift", dihedral(n), ShiftAndReverse(n), 2)


@final
@dataclass(frozen=True)
class ShiftAndReverse:
    """The transform of `shift_and_reverse`."""

    n: int

    def __call__(self, g: Tensor, x: Tensor) -> Tensor:
        mirrored = (g >= self.n)[..., None, None]
        return shift(self.n).act(g % self.n, torch.where(mirrored, x.flip(-1).roll(1, -1), x))
