"""Tiles of the group-projected kernel: `kappa_st(d) = mean_g k(g x_s, g d x_t)` for some orbits against some.

The mean over the group is the orthogonal projection on invariant kernels. It is taken pair of orbits by pair
of orbits, so that nothing of size (m |G|)^2 ever exists, and over one element of each coset of the subgroup
under which the kernel is exactly invariant: over the identity alone where that is the whole group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from symscope.groups import FiniteGroup
from symscope.numerics import checked
from symscope.spectral._kernel_entries import (
    OrbitPoints,
    coinciding_points,
    entries,
    invariance_subgroup,
    own_values,
)
from symscope.spectral._profile import write_own_values

OWN_AT_ONCE = 512  # orbits whose own values k(x, x) are computed together


@final
@dataclass
class SquaredNorms:
    """What has been added up of `|K|^2` and `|K - projected K|^2`, in units of the largest `k(x, x)`."""

    whole: float = 0.0
    away: float = 0.0

    @property
    def invariance_error(self) -> float:
        """`|K - projected K| / |K|`, Frobenius."""
        return (self.away / self.whole) ** 0.5 if self.whole else 0.0


@checked
@final
@dataclass(frozen=True, eq=False)
class ProjectedKernel:
    """A kernel made invariant under a group.

    Attributes:
        kernel: `(x1 [a, *sample], x2 [b, *sample]) -> [a, b]`.
        group: The group.
        representatives: Elements over which the mean is taken: one of each right coset `H g` of the subgroup
            H under which the kernel is exactly invariant.
        dtype: Precision of the tiles; None for that of the kernel's entries.
    """

    kernel: Callable[[Tensor, Tensor], Tensor]
    group: FiniteGroup
    representatives: tuple[int, ...]
    dtype: torch.dtype | None = None

    @property
    def is_exact(self) -> bool:
        """Whether the kernel is invariant as it is."""
        return len(self.representatives) == 1

    def own_values(self, orbits: OrbitPoints) -> Float[Tensor, "m"]:
        """`kappa_ss(e)`, by the kernel's own diagonal."""
        values = [
            own_values(self.kernel, orbits.at(slice(start, start + OWN_AT_ONCE), self.representatives))
            for start in range(0, len(orbits), OWN_AT_ONCE)
        ]
        own = torch.cat(values).unflatten(0, (len(orbits), -1)).mean(1)
        return own if self.dtype is None else own.to(self.dtype)

    def tile(
        self,
        rows: Float[Tensor, "b *sample"],
        columns: Float[Tensor, "t n *sample"],
        norms: SquaredNorms | None = None,
        unit: float = 1.0,
        offset: int | None = None,
    ) -> Float[Tensor, "s t n"]:
        """`kappa_st(d)` for some orbits against some.

        Args:
            rows: Points of the orbits s at the representatives, `OrbitPoints.at`.
            columns: All points of the orbits t.
            norms: Where squares are added up; nothing is where the kernel is exactly invariant.
            unit: Size of the kernel, in which squares are taken.
            offset: Position of the first s minus that of the first t where they are of one set of orbits and
                only s >= t count, those above the diagonal twice; None where every pair counts once.
        """
        n, count = self.group.order, len(self.representatives)
        cells = entries(self.kernel, rows, columns.flatten(0, 1))
        cells = cells.unflatten(1, (-1, n)).unflatten(0, (-1, count))  # [s, g, t, h]
        if self.dtype is not None:
            cells = cells.to(self.dtype)
        if self.is_exact:
            return cells[:, 0]
        steps = self.group.table[list(self.representatives)].to(cells.device)  # [g, d] -> g d
        moved = [cells[:, g][:, :, steps[g]] for g in range(count)]
        tile = moved[0].clone()
        for one in moved[1:]:
            tile += one
        tile /= count
        if norms is not None:
            weights = _pair_weights(tile, offset) / unit
            for one in moved:
                norms.whole += _squares(one, weights)
                norms.away += _squares(one.sub_(tile), weights)
        return tile

    def lower_tile(
        self,
        orbits: OrbitPoints,
        columns: Float[Tensor, "t n *sample"],
        top: int,
        count: int,
        start: int,
        own: Float[Tensor, "m"],
        norms: SquaredNorms,
    ) -> Float[Tensor, "s t n"]:
        """The tile of orbits `top ..` against orbits `start ..` of the same set, own values in their place.

        Args:
            orbits: The orbits.
            columns: All points of the orbits `start ..`.
            top: First orbit of the rows, not before `start`.
            count: Number of orbits of the rows.
            start: First orbit of the columns.
            own: `own_values` of all orbits.
            norms: Where squares are added up.
        """
        rows = orbits.at(slice(top, top + count), self.representatives)
        tile = self.tile(rows, columns, norms, float(own.abs().max()) or 1.0, top - start)
        if top < start + len(columns):  # a sample meets itself
            same = coinciding_points(columns, self.group.identity)
            write_own_values(tile, own[start : start + len(columns)], same, top - start)
        return tile


def projected_kernel(
    kernel: Callable[[Tensor, Tensor], Tensor], orbits: OrbitPoints, dtype: torch.dtype | None = None
) -> ProjectedKernel:
    """A kernel made invariant, after trying on a few points under which elements it is so already.

    Args:
        kernel: `(x1 [a, *sample], x2 [b, *sample]) -> [a, b]`.
        orbits: Orbits on which it is tried.
        dtype: Precision of the tiles; None for that of the kernel's entries.
    """
    group, subgroup = orbits.group, invariance_subgroup(kernel, orbits)
    return ProjectedKernel(kernel, group, _coset_representatives(group, subgroup), dtype)


def _coset_representatives(group: FiniteGroup, subgroup: Int64[Tensor, "h"]) -> tuple[int, ...]:
    """The smallest element of each right coset H g."""
    if len(subgroup) == group.order:
        return (group.identity,)
    return tuple(group.table[subgroup].min(0).values.unique().tolist())


def _pair_weights(tile: Float[Tensor, "s t n"], offset: int | None) -> Float[Tensor, "s t"]:
    """The root of how often a pair counts: twice below the diagonal, once on it."""
    weights = torch.ones(tile.shape[:2], dtype=tile.dtype, device=tile.device)
    if offset is None:
        return weights
    return weights.tril(offset) * 2**0.5 - weights.tril(offset).triu(offset) * (2**0.5 - 1)


def _squares(values: Float[Tensor, "s t n"], weights: Float[Tensor, "s t"]) -> float:
    flat = (values * weights[:, :, None]).flatten()
    return float(torch.dot(flat, flat))
