"""E and E_perp as spaces of coordinates, for eigenvalues of operators on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final

import torch
from torch import Tensor

from symscope.dynamics._declared_network import DeclaredNetwork, LayerWeights
from symscope.dynamics.layer_vectors import coordinates, flatten, from_coordinates, residual, unflatten


@final
@dataclass(frozen=True)
class LayerSubspace:
    """A subspace of layers, and coordinates in which lengths are those of the layers.

    Attributes:
        dimension: Dimension of the subspace.
        size: Number of coordinates: more than the dimension where they are all entries of the layers.
        layers: `[..., size]` coordinates to layers.
        numbers: Layers to the coordinates of their projection on the subspace.
    """

    dimension: int
    size: int
    layers: Callable[[Tensor], LayerWeights]
    numbers: Callable[[LayerWeights], Tensor]


def equivariant_space(network: DeclaredNetwork) -> LayerSubspace:
    """E, in the orthonormal bases of its layers.

    >>> from symscope.groups import cyclic, permutation
    >>> from symscope.dynamics import declare_network
    >>> space = equivariant_space(declare_network([permutation(cyclic(3)), permutation(cyclic(3))]))
    >>> space.dimension, space.numbers(space.layers(torch.arange(3.0).double())).round(decimals=12).tolist()
    (3, [0.0, 1.0, 2.0])
    """
    size = network.equivariant_dimension
    return LayerSubspace(size, size, partial(from_coordinates, network), partial(coordinates, network))


def complement(network: DeclaredNetwork) -> LayerSubspace:
    """E_perp, in all entries of the layers: nothing is built.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import declare_network
    >>> space = complement(declare_network([permutation(cyclic(2)), trivial(cyclic(2))]))
    >>> space.dimension, space.size, space.numbers((torch.tensor([[3.0, 1.0]]),)).round(decimals=6).tolist()
    (1, 2, [1.0, -1.0])
    """
    size = network.parameters
    return LayerSubspace(
        size - network.equivariant_dimension,
        size,
        lambda v: unflatten(network, v),
        lambda image: flatten(residual(network, image)),
    )


def complement_with_basis(network: DeclaredNetwork, device: torch.device | str = "cpu") -> LayerSubspace:
    """E_perp, in an orthonormal basis of each layer's part: as many coordinates as dimensions.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import declare_network
    >>> space = complement_with_basis(declare_network([permutation(cyclic(2)), trivial(cyclic(2))]))
    >>> space.size, space.numbers((torch.tensor([[3.0, 1.0]]).double(),)).abs().round(decimals=6).tolist()
    (1, [1.414214])
    """
    bases = []
    for maps in network.maps:
        inside = maps.combine(torch.eye(maps.dimension, dtype=torch.float64, device=device)).flatten(-2)
        # Householder QR: the columns of Q past the rank are an orthonormal basis of the complement
        bases.append(torch.linalg.qr(inside.mT, mode="complete").Q[:, maps.dimension :])
    sizes = [basis.shape[1] for basis in bases]

    def layers(c: Tensor) -> LayerWeights:
        parts = zip(bases, c.split(sizes, dim=-1), network.shapes, strict=True)
        return tuple((part @ basis.mT).unflatten(-1, shape) for basis, part, shape in parts)

    def numbers(image: LayerWeights) -> Tensor:
        result = [part.flatten(-2) @ basis for basis, part in zip(bases, image, strict=True)]
        return torch.cat(result, dim=-1)

    return LayerSubspace(sum(sizes), sum(sizes), layers, numbers)
