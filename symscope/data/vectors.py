"""Representations as actions on vectors, and actions on samples of any shape as representations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import final

import torch
from torch import Tensor

from symscope.data._action import Action, ElementByElement
from symscope.errors import InputError
from symscope.groups import FiniteGroup, Representation, unitarity_error
from symscope.numerics import check_count, check_memory, checked, seeded

__all__ = ["linear_action", "representation_of"]

EXACT = 1e-8  # of the norm: what laws of a representation may be off by
TRIED = 3  # random samples on which they are tried
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


@checked
def representation_of(action: Action, shape: Sequence[int]) -> Representation:
    """What an action does to samples of a shape, as a representation on the same numbers in a row.

    `rho(g) x.flatten() = (g x).flatten()`; no matrix is built. Shifts, flips, quarter turns, permutations of
    nodes, turned points and `:orthogonal` rotations are representations. Rotations that interpolate are none.

    Args:
        action: A linear action.
        shape: Shape of one sample, channels or other axes that it leaves alone first.

    Raises:
        InputError: An action that is not linear, or that breaks the laws of its group, on samples of this
            shape.

    >>> from symscope.data import rotation
    >>> turns = representation_of(rotation(4), (2, 2))
    >>> turns.act(1, torch.tensor([1.0, 2.0, 3.0, 4.0])).tolist(), turns.permutation is not None
    ([2.0, 4.0, 1.0, 3.0], True)
    """
    group, axes = action.group, tuple(check_count("shape", side) for side in shape)
    if len(axes) < max(1, action.sample_ndim):
        raise InputError(f"expected the shape of samples that {action.name} moves, got {axes}.")
    size = 8 * TRIED * math.prod(axes) * group.order
    check_memory(f"samples of shape {axes} under every element", size, "take smaller samples")
    move = partial(_in_a_row, action, axes)
    x = torch.randn(TRIED, math.prod(axes), generator=seeded(0, 67), dtype=torch.float64)
    small = EXACT * float(x.norm())
    every = [move(g, x) for g in group.elements]
    for g in (group.identity, *group.generators):
        if float((move(g, x[:1] - 2 * x[1:2]) - every[g][:1] + 2 * every[g][1:2]).norm()) > small:
            raise InputError(
                f"action {action.name}: expected a linear map for every element, g (x - 2 y) = g x - 2 g y."
            )
        for h in group.elements:
            off = float((move(g, every[h]) - every[int(group.table[g, h])]).norm())
            if off > small or float((every[group.identity] - x).norm()) > small:
                raise InputError(_no_representation(action, axes, g, h, off / float(x.norm())))
    rep = Representation(group, math.prod(axes), f"{action.name} on {axes}", move, unitary=False)
    if all(_permutes(move, g, x) for g in group.generators):
        return replace(rep, unitary=True, permutation=partial(_index, move, rep.dim))
    return replace(rep, unitary=unitarity_error(rep) < EXACT)


def _in_a_row(action: Action, shape: tuple[int, ...], g: int, x: Tensor) -> Tensor:
    if x.is_complex():
        return torch.complex(_in_a_row(action, shape, g, x.real), _in_a_row(action, shape, g, x.imag))
    return action.act(g, x.unflatten(-1, shape)).flatten(-len(shape))


def _no_representation(action: Action, shape: tuple[int, ...], g: int, h: int, off: float) -> str:
    """Why an action is none, and what to take instead."""
    interpolates = action.name.partition(":")[0] in ("rotation", "dihedral")
    instead = (
        f"turning pixels interpolates: take {action.name.partition(':')[0]}:orthogonal, or quarter turns"
        if interpolates
        else "number the elements as the group does, or choose the group that acts"
    )
    return (
        f"action {action.name} on samples of shape {shape} is no representation of {action.group.name}: "
        f"{action.element_name(g)} after {action.element_name(h)} is not "
        f"{action.element_name(int(action.group.table[g, h]))}, off by {off:.1%}; {instead}."
    )


def _permutes(move: partial[Tensor], g: int, x: Tensor) -> bool:
    """Whether an element only permutes the numbers."""
    index = _index(move, x.shape[-1], g)
    return torch.equal(index.sort().values, torch.arange(len(index))) and torch.equal(move(g, x)[:, index], x)


def _index(move: partial[Tensor], size: int, g: int) -> Tensor:
    """Where each basis vector goes."""
    return move(g, torch.arange(size, dtype=torch.float64)).argsort()
