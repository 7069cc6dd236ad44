"""Projection on E of large layers, all copies at once, in float64 whatever the layers are kept in.

The means of a drift of 1e-7 must not be rounded to float32, and a GPU adds into few places slowly: where all
orbits of index pairs are equally large, entries are put in the order of their orbits and averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from symscope.dynamics import DeclaredNetwork
from symscope.dynamics.layer_steps import summands
from symscope.dynamics.layer_vectors import LayerWeights
from symscope.groups import EquivariantMaps, Representation


@final
@dataclass(frozen=True, eq=False)
class LayerProjection:
    """How one layer is projected on E.

    Attributes:
        maps: Its Hom space.
        whole: Whether every matrix is equivariant (both sides trivial).
        order: Index pairs in the order of their orbits, where these are equally large; else nothing.
        orbit: The orbit of each index pair, with `order`.
    """

    maps: EquivariantMaps
    whole: bool
    order: Int64[Tensor, "n"] | None = None
    orbit: Int64[Tensor, "n"] | None = None

    def project(self, layer: Tensor) -> Float64[Tensor, "..."]:
        """The nearest equivariant layer, in float64; equal entries are equal to the last bit.

        Args:
            layer: `[*runs, dim W, dim V]`.
        """
        wide = layer.to(torch.float64)
        if self.whole:
            return wide
        if self.order is None or self.orbit is None:
            return self.maps.project(wide)
        (kw, w), (kv, v) = _copies(self.maps.target), _copies(self.maps.source)
        pairs = wide.unflatten(-1, (kv, v)).unflatten(-3, (kw, w)).movedim(-2, -3).flatten(-2)
        size = w * v // self.maps.spaces[0][0].dimension
        means = pairs.index_select(-1, self.order).unflatten(-1, (-1, size)).mean(-1)
        nearest = means.index_select(-1, self.orbit)
        return nearest.unflatten(-1, (w, v)).movedim(-3, -2).flatten(-2).flatten(-3, -2)

    def distance(self, layer: Tensor) -> Float64[Tensor, "..."]:
        """`|A - Pi_E A|`, `[*runs]`."""
        if self.whole:
            return torch.zeros(layer.shape[:-2], dtype=torch.float64, device=layer.device)
        return torch.linalg.matrix_norm(layer.to(torch.float64) - self.project(layer))


def layer_projections(network: DeclaredNetwork, device: torch.device | str) -> tuple[LayerProjection, ...]:
    """The projection of every layer, with what it needs on a device.

    >>> from symscope.dynamics import declare_network
    >>> from symscope.groups import cyclic, permutation
    >>> v = permutation(cyclic(2))
    >>> [projection] = layer_projections(declare_network([v, v]), "cpu")
    >>> projection.project(torch.tensor([[1.0, 2.0], [4.0, 3.0]])).tolist()
    [[2.0, 3.0], [3.0, 2.0]]
    """
    return tuple(_projection(maps, device) for maps in network.maps)


def projected(projections: Sequence[LayerProjection], layers: Sequence[Tensor]) -> LayerWeights:
    """Pi_E of all layers, in the dtype they come in."""
    return tuple(one.project(layer).to(layer.dtype) for one, layer in zip(projections, layers, strict=True))


def distances(projections: Sequence[LayerProjection], layers: Sequence[Tensor]) -> Float64[Tensor, "..."]:
    """`|A_{E_perp}|` per layer, `[layers, *runs]`."""
    return torch.stack([one.distance(layer) for one, layer in zip(projections, layers, strict=True)])


def _copies(space: Representation) -> tuple[int, int]:
    """How often the one summand of a space occurs, and its dimension."""
    [(copies, rep)] = summands(space)
    return copies, rep.dim


def _projection(maps: EquivariantMaps, device: torch.device | str) -> LayerProjection:
    whole = maps.dimension == maps.source.dim * maps.target.dim
    alone = len(maps.spaces) == 1 and len(maps.spaces[0]) == 1
    space = maps.spaces[0][0]
    if whole or not alone or space.orbit is None or space.sizes is None:
        return LayerProjection(maps, whole)
    if bool((space.sizes != space.sizes[0]).any()):
        return LayerProjection(maps, whole)
    order = torch.argsort(space.orbit, stable=True).to(device)
    return LayerProjection(maps, whole, order, space.orbit.to(device))
