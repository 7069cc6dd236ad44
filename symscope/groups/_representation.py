"""Representations as values: a linear action of a group on vectors, that never needs its matrices.

They form an algebra: `V + W` (direct sum), `V * W` (tensor product), `3 * V` (three copies), `V.dual`,
`hom(V, W)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, final

import torch
from jaxtyping import Int64
from torch import Tensor

from symscope.errors import InputError
from symscope.groups._finite_group import FiniteGroup
from symscope.groups.named_groups import Group
from symscope.numerics import checked, explained


@checked
@final
@dataclass(frozen=True, eq=False, repr=False)
class Representation:
    """A linear action of `group` on vectors of length `dim`, applied along the last axis of a tensor.

    An element is what its group says: an integer for a `FiniteGroup`, an index tensor for a
    `PermutationGroup`, a matrix for a `CompactGroup`.

    Attributes:
        group: The group that acts.
        dim: Length of the vectors.
        name: What it is called in plots and messages.
        action: `(g, x [..., dim]) -> [..., dim]`.
        unitary: Whether every rho(g) is unitary.
        permutation: For permutation representations, `g -> index`: basis vector i goes to index[i].
        derivative: For compact groups, `(h, x) -> d rho(h) x` for h in the Lie algebra.
        summands: For direct sums, (multiplicity, representation) in order.
        listing: For listed groups, `() -> [order, dim, dim]`: all matrices at once, where they are stored or
            cheaper to make together than one by one.

    >>> from symscope.groups import cyclic, permutation
    >>> v = permutation(cyclic(4))
    >>> v.act(1, torch.tensor([10.0, 20.0, 30.0, 40.0]))
    tensor([40., 10., 20., 30.])
    >>> (2 * v + v * v).dim, v
    (24, V4 of C4)
    """

    group: Group
    dim: int
    name: str
    action: Callable[[Any, Tensor], Tensor]
    unitary: bool = True
    permutation: Callable[[Any], Tensor] | None = None
    derivative: Callable[[Tensor, Tensor], Tensor] | None = None
    summands: tuple[tuple[int, Representation], ...] = ()
    listing: Callable[[], Tensor] | None = None

    def __repr__(self) -> str:
        return f"{self.name} of {self.group.name}"

    def __call__(self, g: Any) -> Tensor:
        """The matrix rho(g)."""
        return self.act(g, torch.eye(self.dim, dtype=torch.float64)).T.contiguous()

    def act(self, g: Any, x: Tensor, axis: int = -1) -> Tensor:
        """rho(g) applied along one axis of x, without building the matrix."""
        return self._along(partial(self.action, g), x, axis)

    def act_algebra(self, h: Tensor, x: Tensor, axis: int = -1) -> Tensor:
        """d rho(h) applied along one axis of x, for h in the Lie algebra of a compact group."""
        if self.derivative is None:
            raise InputError(f"expected a compact group with a Lie algebra; {self.group.name} has none.")
        return self._along(partial(self.derivative, h), x, axis)

    def _along(self, apply: Callable[[Tensor], Tensor], x: Tensor, axis: int) -> Tensor:
        if x.ndim == 0 or x.shape[axis] != self.dim:
            raise InputError(
                f"expected axis {axis} of length {self.dim} for {self!r}, got shape {tuple(x.shape)}."
            )
        return apply(x) if axis in (-1, x.ndim - 1) else apply(x.movedim(axis, -1)).movedim(-1, axis)

    @property
    def matrices(self) -> Tensor:
        """Every rho(g), `[order, dim, dim]`, for listed groups."""
        return self.listing() if self.listing is not None else self._stacked

    @cached_property
    def _stacked(self) -> Tensor:
        if not isinstance(self.group, FiniteGroup):
            raise InputError(
                f"expected a listed finite group; the elements of {self.group.name} are not listed."
            )
        return torch.stack([self(g) for g in self.group.elements])

    @property
    def dual(self) -> Representation:
        """The representation on linear forms, rho(g^-1)^T."""
        name = self.name if self.permutation is not None else f"{self.name}*"
        derivative = None if self.derivative is None else partial(_dual_derivative, self)
        return Representation(
            self.group,
            self.dim,
            name,
            partial(_dual_action, self),
            self.unitary,
            self.permutation,
            derivative,
        )

    def __add__(self, other: Representation) -> Representation:
        check_same_group(self, other)
        return direct_sum(self, other)

    def __mul__(self, other: Representation) -> Representation:
        check_same_group(self, other)
        return tensor_product(self, other)

    def __rmul__(self, copies: int) -> Representation:
        if not isinstance(copies, int) or copies < 1:
            raise InputError(f"expected a positive number of copies of {self!r}, got {copies!r}.")
        if self.summands:
            return direct_sum(*[self] * copies)
        return _from_summands(((copies, self),))


def check_same_group(*reps: Representation) -> None:
    """Raise unless all act by the same group."""
    first = reps[0].group
    for other in reps[1:]:
        if other.group != first:
            came = f"{first.name} and {other.group.name}"
            if other.group.name == first.name:
                came = (
                    f"two called {first.name} with different tables or factors: make one and use it for all"
                )
            raise InputError(f"expected representations of one group, got {came}.")


@explained
def direct_sum(*reps: Representation) -> Representation:
    """V1 + V2 + ...: vectors one after the other."""
    check_same_group(*reps)
    return _from_summands(tuple(part for rep in reps for part in (rep.summands or ((1, rep),))))


def tensor_product(left: Representation, right: Representation) -> Representation:
    """V * W on vectors of length `dim V * dim W`, index `(i, j) -> i * dim W + j`."""
    check_same_group(left, right)
    name = " * ".join(f"({r.name})" if "+" in r.name else r.name for r in (left, right))
    both = left.derivative is not None and right.derivative is not None
    return Representation(
        left.group,
        left.dim * right.dim,
        name,
        partial(_tensor_action, left, right),
        left.unitary and right.unitary,
        partial(_tensor_permutation, left, right)
        if left.permutation is not None and right.permutation is not None
        else None,
        partial(_tensor_derivative, left, right) if both else None,
    )


@checked
def hom(source: Representation, target: Representation) -> Representation:
    """Matrices `[dim W, dim V]`, flattened row by row, under `A -> rho_W(g) A rho_V(g)^-1`.

    >>> from symscope.groups import cyclic, permutation
    >>> hom(permutation(cyclic(3)), permutation(cyclic(3))).dim
    9
    """
    return tensor_product(target, source.dual)


def _from_summands(summands: tuple[tuple[int, Representation], ...]) -> Representation:
    reps = [rep for _, rep in summands]
    name = " + ".join(rep.name if k == 1 else f"{k} {rep.name}" for k, rep in summands)
    return Representation(
        reps[0].group,
        sum(k * rep.dim for k, rep in summands),
        name,
        partial(_sum_apply, summands, "action"),
        all(rep.unitary for rep in reps),
        partial(_sum_permutation, summands) if all(rep.permutation is not None for rep in reps) else None,
        partial(_sum_apply, summands, "derivative")
        if all(rep.derivative is not None for rep in reps)
        else None,
        summands,
    )


def _sum_apply(summands: tuple[tuple[int, Representation], ...], which: str, g: Any, x: Tensor) -> Tensor:
    pieces = x.split([k * rep.dim for k, rep in summands], dim=-1)
    moved = [
        getattr(rep, which)(g, piece.unflatten(-1, (k, rep.dim))).flatten(-2)
        for (k, rep), piece in zip(summands, pieces, strict=True)
    ]
    return torch.cat(moved, dim=-1)


def _sum_permutation(summands: tuple[tuple[int, Representation], ...], g: Any) -> Int64[Tensor, "d"]:
    indices, start = [], 0
    for k, rep in summands:
        assert rep.permutation is not None
        copies = torch.arange(k)[:, None] * rep.dim + rep.permutation(g) + start
        indices.append(copies.reshape(-1))
        start += k * rep.dim
    return torch.cat(indices)


def _tensor_action(left: Representation, right: Representation, g: Any, x: Tensor) -> Tensor:
    grid = x.unflatten(-1, (left.dim, right.dim))
    return left.act(g, right.action(g, grid), axis=-2).flatten(-2)


def _tensor_derivative(left: Representation, right: Representation, h: Tensor, x: Tensor) -> Tensor:
    grid = x.unflatten(-1, (left.dim, right.dim))
    return (left.act_algebra(h, grid, axis=-2) + right.act_algebra(h, grid)).flatten(-2)


def _tensor_permutation(left: Representation, right: Representation, g: Any) -> Int64[Tensor, "d"]:
    assert left.permutation is not None
    assert right.permutation is not None
    return (left.permutation(g)[:, None] * right.dim + right.permutation(g)).reshape(-1)


def _dual_action(rep: Representation, g: Any, x: Tensor) -> Tensor:
    if rep.unitary:  # rho(g^-1)^T is the conjugate of rho(g)
        return rep.action(g, x.conj()).conj() if x.is_complex() else rep.action(g, x).conj()
    return x @ rep(rep.group.inverse(g)).to(x.dtype)


def _dual_derivative(rep: Representation, h: Tensor, x: Tensor) -> Tensor:
    assert rep.derivative is not None
    if rep.unitary:
        return rep.derivative(h, x.conj()).conj() if x.is_complex() else rep.derivative(h, x).conj()
    matrix = rep.derivative(h, torch.eye(rep.dim, dtype=torch.float64)).T
    return -(x @ matrix.to(x.dtype))
