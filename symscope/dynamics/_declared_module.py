"""Declared networks as ordinary `nn.Module`s: dense layers, or layers equivariant by construction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import torch
from torch import Tensor, nn

from symscope.dynamics._declared_network import DeclaredNetwork, LayerWeights, check_layer_weights
from symscope.dynamics.layer_vectors import equivariant_weights
from symscope.errors import InputError
from symscope.groups import EquivariantMaps


@final
class DenseLayer(nn.Module):
    """A linear layer with a full matrix as its parameter `weight`."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.clone())

    def matrix(self) -> Tensor:
        """A_i."""
        return self.weight

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight.mT


@final
class EquivariantLayer(nn.Module):
    """A linear layer whose parameters are coefficients in a basis of Hom_G: it cannot leave E."""

    def __init__(self, maps: EquivariantMaps, weight: Tensor) -> None:
        super().__init__()
        self.maps = maps
        self.coefficients = nn.Parameter(maps.coefficients(weight))

    def matrix(self) -> Tensor:
        """A_i."""
        return self.maps.combine(self.coefficients)

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.matrix().mT


@final
class DeclaredModule(nn.Module):
    """A declared network with weights: trains, saves and moves like any module."""

    def __init__(self, network: DeclaredNetwork, layers: Sequence[nn.Module]) -> None:
        super().__init__()
        self.network = network
        self.layers = nn.ModuleList(layers)

    def matrices(self) -> LayerWeights:
        """The layers A, as parameters or as functions of them."""
        return tuple(layer.matrix() for layer in self.layers)  # type: ignore[operator]

    def forward(self, x: Tensor) -> Tensor:
        for i, layer in enumerate(self.layers):
            x = self.network.after(i, layer(x))
        return x


def build_module(
    network: DeclaredNetwork,
    weights: Sequence[Tensor] | None = None,
    *,
    equivariant: bool,
    generator: torch.Generator | None = None,
    dtype: torch.dtype = torch.float64,
) -> DeclaredModule:
    """A declared network as an `nn.Module`.

    Args:
        network: The declaration.
        weights: Layers of the network, without an axis of runs; without them, equivariant Gaussian layers
            that keep the size of signals, drawn from `generator`.
        equivariant: True for layers parameterised by coefficients in Hom_G (given weights are projected),
            False for dense matrices that start equivariant but may leave E.
        generator: Source of randomness when there are no weights.
        dtype: Precision of the parameters.

    Raises:
        InputError: Neither weights nor a generator, or weights that do not fit.

    >>> from symscope.groups import cyclic, permutation
    >>> from symscope.dynamics import declare_network
    >>> v = permutation(cyclic(6))
    >>> net = declare_network([v, 2 * v, v], "relu")
    >>> count = lambda m: sum(p.numel() for p in m.parameters())
    >>> generator = torch.Generator().manual_seed(0)
    >>> [count(build_module(net, equivariant=e, generator=generator)) for e in (True, False)]
    [24, 144]
    """
    if weights is None:
        if generator is None:
            raise InputError("expected weights, or a generator to draw them from; got neither.")
        weights = equivariant_weights(network, generator, scale="preserving")
    check_layer_weights(network, weights)
    if any(weight.ndim != 2 for weight in weights):
        raise InputError("expected layers without an axis of runs: a module holds one network.")
    given = [weight.detach().to(dtype) for weight in weights]
    if equivariant:
        return DeclaredModule(
            network, [EquivariantLayer(maps, w) for maps, w in zip(network.maps, given, strict=True)]
        )
    return DeclaredModule(network, [DenseLayer(w) for w in given])
