"""The representations everything else is made from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from symscope.errors import InputError
from symscope.groups._finite_group import FiniteGroup, check_finite_group
from symscope.groups._generated import check_permutations
from symscope.groups._permutation import PermutationGroup
from symscope.groups._representation import Representation
from symscope.groups.compact import CompactGroup
from symscope.groups.named_groups import Group
from symscope.numerics import checked

__all__ = ["block", "defining", "from_function", "from_matrices", "permutation", "regular", "trivial"]

# float64 matrices typed in by hand or produced by trigonometry satisfy the group law to about 1e-14
HOMOMORPHISM = 1e-8


@checked
def trivial(group: Group, dim: int = 1) -> Representation:
    """Nothing moves.

    >>> from symscope.groups.compact import so
    >>> trivial(so(3), 4)
    4 1 of SO(3)
    """
    one = Representation(group, 1, "1", _still, True, _no_move, _vanish)
    return one if dim == 1 else dim * one


@checked
def regular(group: FiniteGroup) -> Representation:
    """Functions on the group: basis vector h goes to gh.

    >>> from symscope.groups import cyclic
    >>> regular(cyclic(3)).act(1, torch.tensor([1.0, 2.0, 3.0]))
    tensor([3., 1., 2.])
    """
    group = check_finite_group(group)
    return _permutation_from(group, partial(_translation, group), group.order, "regular")


@checked
def permutation(group: FiniteGroup | PermutationGroup, points: Tensor | None = None) -> Representation:
    """Basis vectors moved as the group moves points.

    Args:
        group: A finite group.
        points: `[order, d]`, where each element sends each point; by default the points the group permutes.

    Raises:
        InputError: `points` are not permutations or do not multiply as the group does.

    >>> from symscope.groups import symmetric
    >>> permutation(symmetric(10)).dim
    10
    """
    if isinstance(group, PermutationGroup):
        if points is not None:
            raise InputError(f"expected no points: {group.name} is not listed, it acts on its own points.")
        return Representation(group, group.degree, f"V{group.degree}", _move_by, True, _itself, None)
    group = check_finite_group(group)
    if points is None:
        return _permutation_from(group, partial(_movement, group), group.degree, f"V{group.degree}")
    if points.shape[0] != group.order:
        raise InputError(f"expected {group.order} permutations, one per element, got {points.shape[0]}.")
    check_permutations(points)
    for a in group.generators:
        products = points[_translation(group, a)]
        if not torch.equal(products, points[a][points]):
            b = int((products != points[a][points]).any(dim=1).nonzero()[0])
            raise InputError(
                f"expected permutations that multiply as {group.name} does; element {group.labels[b]} then "
                f"{group.labels[a]} differs from their product {group.labels[group.multiply(a, b)]}."
            )
    return _permutation_from(group, partial(_row, points), points.shape[1], f"V{points.shape[1]}")


@checked
def defining(group: Group) -> Representation:
    """The representation a group comes with: its matrices, otherwise its permutations.

    >>> from symscope.groups.polyhedral import octahedral

    >>> from symscope.groups.compact import so
    >>> defining(octahedral()).dim, defining(so(3)).dim
    (3, 3)
    """
    if isinstance(group, CompactGroup):
        return Representation(group, group.size, "defining", _apply_matrix, True, None, _apply_matrix)
    if isinstance(group, FiniteGroup) and group.matrices is not None:
        return from_matrices(group, group.matrices, name="defining")
    return permutation(group)


@checked
def block(group: CompactGroup, index: int) -> Representation:
    """The defining representation of one factor of a product of compact groups.

    >>> from symscope.groups import parse
    >>> block(parse("S4xSO(3)"), 1).dim
    3
    """
    if not 0 <= index < len(group.blocks):
        raise InputError(f"expected a factor of {group.name} from 0 to {len(group.blocks) - 1}, got {index}.")
    start, stop = group.blocks[index]
    apply = partial(_apply_block, start, stop)
    return Representation(group, stop - start, f"factor {index}", apply, True, None, apply)


@checked
def from_matrices(group: FiniteGroup, matrices: Tensor, name: str = "matrices") -> Representation:
    """The representation with matrices `[order, d, d]`, after checking that they multiply as the group.

    Raises:
        InputError: Wrong shape, not finite, or not a homomorphism: the message names the worst pair.

    >>> from symscope.groups import cyclic
    >>> from_matrices(cyclic(2), torch.tensor([[[1.0]], [[-1.0]]]))
    matrices of C2
    """
    group = check_finite_group(group)
    if matrices.ndim != 3 or matrices.shape[0] != group.order or matrices.shape[1] != matrices.shape[2]:
        raise InputError(
            f"expected matrices [{group.order}, d, d] for {group.name}, got {tuple(matrices.shape)}."
        )
    wide = matrices.to(torch.complex128 if matrices.is_complex() else torch.float64)
    if not bool(torch.isfinite(wide.abs()).all()):
        raise InputError("expected finite matrices; some entry is NaN or infinite.")
    eye = torch.eye(wide.shape[1], dtype=wide.dtype)
    scale = max(1.0, float(wide.abs().max()))
    if float((wide[0] - eye).abs().max()) > HOMOMORPHISM * scale:
        raise InputError("expected the identity matrix for the identity, element 0; it is something else.")
    for a in group.generators:
        error = (wide[a] @ wide - wide[_translation(group, a)]).abs().amax(dim=(1, 2))
        worst = int(error.argmax())
        if float(error[worst]) > HOMOMORPHISM * scale**2:
            raise InputError(
                f"expected a homomorphism; rho({group.labels[a]}) rho({group.labels[worst]}) differs from "
                f"rho({group.labels[group.multiply(a, worst)]}) by {float(error[worst]):.2g}."
            )
    gram = torch.einsum("gji,gjk->gik", wide.conj(), wide)
    unitary = float((gram - eye).abs().max()) < HOMOMORPHISM
    return Representation(
        group, wide.shape[1], name, partial(_apply_listed, wide), unitary, listing=partial(_stored, wide)
    )


@checked
def from_function(
    group: Group, dim: int, action: Callable[[Any, Tensor], Tensor], unitary: bool, name: str = "function"
) -> Representation:
    """A representation given by what it does to the last axis of a tensor; no matrix is ever built.

    `assert_representation` of `symscope.testing` measures how nearly it is one.

    >>> from symscope.groups import cyclic
    >>> from_function(cyclic(5), 5, lambda g, x: x.roll(g, -1), unitary=True).act(2, torch.arange(5.0))
    tensor([3., 4., 0., 1., 2.])
    """
    return Representation(group, dim, name, action, unitary)


def _permutation_from(
    group: FiniteGroup, index: Callable[[Any], Tensor], dim: int, name: str
) -> Representation:
    return Representation(group, dim, name, partial(_move_listed, index), True, index)


def _still(g: Any, x: Tensor) -> Tensor:
    return x


def _no_move(g: Any) -> Tensor:
    return torch.zeros(1, dtype=torch.int64)


def _vanish(h: Tensor, x: Tensor) -> Tensor:
    return torch.zeros_like(x)


def _itself(g: Tensor) -> Tensor:
    return g


def _row(points: Tensor, g: int) -> Tensor:
    return points[g]


def _translation(group: FiniteGroup, g: int) -> Tensor:
    return group.law(torch.tensor(int(g)), torch.arange(group.order))


def _movement(group: FiniteGroup, g: int) -> Tensor:
    return group.move(torch.tensor([int(g)]))[0]


def _move_by(index: Tensor, x: Tensor) -> Tensor:
    return x.index_select(-1, torch.argsort(index).to(x.device))


def _move_listed(index: Callable[[Any], Tensor], g: int, x: Tensor) -> Tensor:
    return _move_by(index(g), x)


def _apply_matrix(g: Tensor, x: Tensor) -> Tensor:
    dtype = torch.promote_types(x.dtype, torch.complex64) if g.is_complex() else x.dtype
    return x.to(dtype) @ g.T.to(dtype=dtype, device=x.device)


def _apply_listed(matrices: Tensor, g: int, x: Tensor) -> Tensor:
    return _apply_matrix(matrices[g], x)


def _stored(matrices: Tensor) -> Tensor:
    return matrices


def _apply_block(start: int, stop: int, g: Tensor, x: Tensor) -> Tensor:
    return _apply_matrix(g[start:stop, start:stop], x)
