"""Equivariant linear maps: the space Hom_G(V, W), its basis, projection and distance.

A direct sum is treated block by block and copies share one small space, so that 32 channels of 196 x 196
maps cost one 196 x 196 problem. Elements are never listed: generators (and the Lie algebra) are enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from torch import Tensor

from symscope.errors import InputError
from symscope.groups._homspace import HomSpace, hom_space
from symscope.groups._representation import Representation, check_same_group
from symscope.groups.constructions import trivial
from symscope.numerics import check_memory, checked


@checked
def equivariant_maps(source: Representation, target: Representation) -> EquivariantMaps:
    """The space of matrices A with `rho_W(g) A = A rho_V(g)` for every g.

    Args:
        source: V, what the maps take.
        target: W, what they give.

    >>> from symscope.groups import permutation, symmetric
    >>> v = permutation(symmetric(10))
    >>> equivariant_maps(v * v, v * v).dimension  # of 3.6 million elements none is listed
    15
    """
    check_same_group(source, target)
    columns = source.summands or ((1, source),)
    rows = target.summands or ((1, target),)
    known: dict[tuple[int, int], HomSpace] = {}
    for _, w in rows:
        for _, v in columns:
            if (id(w), id(v)) not in known:
                known[id(w), id(v)] = hom_space(v, w)
    spaces = tuple(tuple(known[id(w), id(v)] for _, v in columns) for _, w in rows)
    return EquivariantMaps(source, target, spaces)


@checked
def invariant_vectors(rep: Representation) -> EquivariantMaps:
    """The vectors no element moves, as maps from the trivial representation (`[dim, 1]` matrices).

    >>> from symscope.groups import permutation, symmetric
    >>> invariant_vectors(permutation(symmetric(5))).dimension
    1
    """
    return equivariant_maps(trivial(rep.group), rep)


@checked
@final
@dataclass(frozen=True, eq=False)
class EquivariantMaps:
    """Hom_G(V, W) as a subspace of matrices `[dim W, dim V]`.

    Attributes:
        source: V.
        target: W.
        spaces: `spaces[j][i]`, the space between one copy of summand i of V and one copy of summand j of W.
    """

    source: Representation
    target: Representation
    spaces: tuple[tuple[HomSpace, ...], ...]

    @cached_property
    def _columns(self) -> tuple[tuple[int, int], ...]:
        return tuple((k, rep.dim) for k, rep in (self.source.summands or ((1, self.source),)))

    @cached_property
    def _rows(self) -> tuple[tuple[int, int], ...]:
        return tuple((k, rep.dim) for k, rep in (self.target.summands or ((1, self.target),)))

    @cached_property
    def dimension(self) -> int:
        """Number of free parameters."""
        return sum(
            kw * kv * self.spaces[j][i].dimension
            for j, (kw, _) in enumerate(self._rows)
            for i, (kv, _) in enumerate(self._columns)
        )

    def project(self, matrix: Tensor) -> Tensor:
        """The nearest equivariant map; the mean of `rho_W(g) A rho_V(g)^-1` when both are unitary.

        Works through one copy of the target at a time: beside input and output it needs memory for one.

        Args:
            matrix: `[..., dim W, dim V]`.
        """
        self._check(matrix)
        out = torch.empty_like(matrix, dtype=self._dtype(matrix))
        top = 0
        for j, (kw, dw) in enumerate(self._rows):
            for _ in range(kw):
                left = 0
                for i, (kv, dv) in enumerate(self._columns):
                    view = matrix[..., top : top + dw, left : left + kv * dv].unflatten(-1, (kv, dv))
                    flat = view.movedim(-2, -3).flatten(-2)
                    nearest = self.spaces[j][i].project(flat).unflatten(-1, (dw, dv)).movedim(-3, -2)
                    out[..., top : top + dw, left : left + kv * dv] = nearest.flatten(-2)
                    left += kv * dv
                top += dw
        return out

    def residual(self, matrix: Tensor) -> Tensor:
        """What is left of a matrix outside the space: `A - project(A)`."""
        return matrix - self.project(matrix)

    def distance(self, matrix: Tensor) -> Tensor:
        """The Frobenius norm of the residual, `[...]`."""
        return torch.linalg.matrix_norm(self.residual(matrix))

    def combine(self, coefficients: Tensor) -> Tensor:
        """The map with given coefficients in the orthonormal basis, `[..., dimension] -> matrices`."""
        if coefficients.shape[-1] != self.dimension:
            raise InputError(
                f"expected {self.dimension} coefficients along the last axis, got {coefficients.shape[-1]}."
            )
        rows, at = [], 0
        for j, (kw, dw) in enumerate(self._rows):
            row = []
            for i, (kv, dv) in enumerate(self._columns):
                space = self.spaces[j][i]
                count = kw * kv * space.dimension
                c = coefficients[..., at : at + count].unflatten(-1, (kw, kv, space.dimension))
                block = space.combine(c).unflatten(-1, (dw, dv)).movedim(-2, -3)
                row.append(block.flatten(-2).flatten(-3, -2))
                at += count
            rows.append(torch.cat(row, dim=-1))
        return torch.cat(rows, dim=-2)

    def coefficients(self, matrix: Tensor) -> Tensor:
        """The coefficients of `project(matrix)` in the orthonormal basis: the inverse of `combine`."""
        self._check(matrix)
        parts, top = [], 0
        for j, (kw, dw) in enumerate(self._rows):
            left = 0
            for i, (kv, dv) in enumerate(self._columns):
                view = matrix[..., top : top + kw * dw, left : left + kv * dv]
                flat = view.unflatten(-2, (kw, dw)).unflatten(-1, (kv, dv)).movedim(-2, -3).flatten(-2)
                parts.append(self.spaces[j][i].coefficients(flat).flatten(-3))
                left += kv * dv
            top += kw * dw
        return torch.cat(parts, dim=-1)

    @property
    def basis(self) -> Tensor:
        """An orthonormal basis `[dimension, dim W, dim V]`, for spaces small enough to write down."""
        check_memory(
            f"the basis of {self.dimension} maps",
            8 * self.dimension * self.source.dim * self.target.dim,
            "use project, combine and coefficients, which do not build it",
        )
        return self.combine(torch.eye(self.dimension, dtype=torch.float64))

    def _dtype(self, matrix: Tensor) -> torch.dtype:
        spaces = [space for row in self.spaces for space in row]
        if any(space.is_complex for space in spaces):
            return torch.promote_types(matrix.dtype, torch.complex64)
        return matrix.dtype

    def _check(self, matrix: Tensor) -> None:
        shape = (self.target.dim, self.source.dim)
        if matrix.ndim < 2 or tuple(matrix.shape[-2:]) != shape:
            raise InputError(
                f"expected matrices of shape [..., {shape[0]}, {shape[1]}] for maps from {self.source!r} to "
                f"{self.target!r}, got {tuple(matrix.shape)}."
            )
