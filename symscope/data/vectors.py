"""Representations acting on vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from symscope.data._action import Action, ElementByElement
from symscope.errors import InputError
from symscope.groups import FiniteGroup, Representation
from symscope.numerics import checked

__all__ = ["linear_action"]

LARGEST_LISTED = 2**24  # matrix entries, 134 MB: beyond it elements act one by one, without matrices


@checked
def linear_action(rep: Representation) -> Action:
    """A representation acting on vectors `[..., dim]`: `(g x)_i = sum_j rho(g)_ij x_j`.

    For your own matrices use `linear_action(groups.from_matrices(group, matrices))`, which checks them.

    Raises:
        InputError: The group is not a listed finite one; when used, vectors of another length, not floating
            point, or real ones where the matrices are complex.

    >>> from symscope import groups
    >>> quarter = torch.tensor([[0.0, -1.0], [1.0, 0.0]])
    >>> turns = torch.stack([torch.linalg.matrix_power(quarter, k) for k in range(4)])
    >>> linear_action(groups.from_matrices(groups.cyclic(4), turns)).act(1, torch.tensor([2.0, 5.0])).tolist()
    [-5.0, 2.0]
    """
    if not isinstance(rep.group, FiniteGroup):
        raise InputError(
            f"expected a representation of a listed finite group; the elements of {rep.group.name} are not "
            "listed. Use a finite subgroup, for example C8 for SO(2)."
        )
    if rep.group.order * rep.dim**2 > LARGEST_LISTED:
        return Action(rep.name, rep.group, ElementByElement(rep.act, 1), 1)
    return Action(rep.name, rep.group, MatrixAction(rep.matrices), 1)


@final
@dataclass(frozen=True, eq=False)
class MatrixAction:
    """The transform of `linear`."""

    matrices: Tensor

    def __call__(self, g: Tensor, x: Tensor) -> Tensor:
        size = self.matrices.shape[-1]
        if x.shape[-1] != size:
            raise InputError(f"expected vectors of length {size}, got shape {tuple(x.shape)}.")
        if not (x.is_floating_point() or x.is_complex()):
            raise InputError(f"expected floating-point vectors to multiply by matrices, got {x.dtype}.")
        if self.matrices.is_complex() and not x.is_complex():
            raise InputError(f"expected complex vectors, because the matrices are complex, got {x.dtype}.")
        matrices = self.matrices.to(x.device, x.dtype)
        if g.ndim == 0:
            return x @ matrices[g].T
        if g.ndim == 1 and x.ndim > 1 and x.shape[-2] == 1:  # every element on every vector, without copies
            return torch.einsum("gij,...j->...gi", matrices[g], x[..., 0, :])
        return torch.einsum("...ij,...j->...i", matrices[g], x)
