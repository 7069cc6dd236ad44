"""Layers as vectors: projection on E, the split |A_E|, |A_{E_perp}|, the induced action, initialisation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor

from symscope.dynamics._declared_network import (
    DeclaredNetwork,
    LayerWeights,
    check_alike,
    check_finite_layers,
    check_layer_weights,
)
from symscope.errors import InputError
from symscope.numerics import checked, explained, usable_device

__all__ = [
    "EquivariantSplit",
    "LayerWeights",
    "add",
    "check_alike",
    "check_equivariant",
    "check_finite_layers",
    "check_layer_weights",
    "coordinates",
    "equivariant_split",
    "equivariant_weights",
    "flatten",
    "from_coordinates",
    "gaussian_weights",
    "inner",
    "norm",
    "project",
    "residual",
    "rounding_off_e",
    "subtract",
    "transform",
    "unflatten",
]

SCALES = ("standard", "preserving")
ROUNDINGS = 32  # of the dtype of layers, relative: what storing equivariant layers in it may cost
FOUND = 1e-10  # relative: bases of E that were found numerically may differ by so much


@explained
def project(network: DeclaredNetwork, weights: Sequence[Tensor]) -> LayerWeights:
    """The equivariant part Pi_E A of layers, or of their gradient (Lemma 2).

    Args:
        network: Declaration of the layers.
        weights: `A_i [*runs, dim X_{i+1}, dim X_i]`.

    >>> from symscope.groups import cyclic, permutation
    >>> from symscope.dynamics import declare_network
    >>> v = permutation(cyclic(2))
    >>> weights = [torch.tensor([[1.0, 2.0], [4.0, 3.0]])]
    >>> project(declare_network([v, v]), weights)[0].round(decimals=4).tolist()
    [[2.0, 3.0], [3.0, 2.0]]
    """
    check_layer_weights(network, weights)
    return tuple(maps.project(weight) for maps, weight in zip(network.maps, weights, strict=True))


@explained
def residual(network: DeclaredNetwork, weights: Sequence[Tensor]) -> LayerWeights:
    """The part `A_{E_perp} = A - Pi_E A` that breaks equivariance.

    >>> from symscope.groups import cyclic, permutation
    >>> from symscope.dynamics import declare_network
    >>> v = permutation(cyclic(2))
    >>> weights = [torch.tensor([[1.0, 2.0], [4.0, 3.0]])]
    >>> residual(declare_network([v, v]), weights)[0].round(decimals=4).tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
    """
    return subtract(weights, project(network, weights))


@explained
def transform(network: DeclaredNetwork, g: Any, weights: Sequence[Tensor]) -> LayerWeights:
    """The induced action `(rho_bar(g) A)_i = rho_{i+1}(g) A_i rho_i(g)^-1` on layers.

    Args:
        network: Declaration of the layers.
        g: An element of its group.
        weights: `A_i [*runs, dim X_{i+1}, dim X_i]`.

    >>> from symscope.groups import cyclic, permutation
    >>> from symscope.dynamics import declare_network
    >>> v = permutation(cyclic(2))
    >>> transform(declare_network([v, v]), 1, [torch.tensor([[1.0, 2.0], [4.0, 3.0]])])[0]
    tensor([[3., 4.],
            [2., 1.]])
    """
    check_layer_weights(network, weights)
    # rho is orthogonal, so A rho(g)^-1 = A rho(g)^T acts on the columns' axis
    return tuple(
        v.act(g, w.act(g, weight, axis=-2), axis=-1)
        for v, w, weight in zip(network.sources, network.targets, weights, strict=True)
    )


@final
@dataclass(frozen=True)
class EquivariantSplit:
    """How much of some layers is equivariant, and how much is not.

    Attributes:
        equivariant: `|A_E|` per layer, `[L, *runs]`.
        residual: `|A_{E_perp}|` per layer, `[L, *runs]`.
    """

    equivariant: Tensor
    residual: Tensor

    @property
    def total_equivariant(self) -> Tensor:
        """`|A_E|` over all layers, `[*runs]`."""
        return torch.linalg.vector_norm(self.equivariant, dim=0)

    @property
    def total_residual(self) -> Tensor:
        """`|A_{E_perp}|` over all layers, `[*runs]`."""
        return torch.linalg.vector_norm(self.residual, dim=0)


@checked
def equivariant_split(network: DeclaredNetwork, weights: Sequence[Tensor]) -> EquivariantSplit:
    """The norms `|A_E|` and `|A_{E_perp}|`, per layer and in total.

    Computed in float64 whatever the layers are, one run at a time: a projection in float32 would leave a
    residual of rounding of its own, far above the drifts one wants to see.

    >>> from symscope.groups import cyclic, permutation
    >>> from symscope.dynamics import declare_network
    >>> v = permutation(cyclic(2))
    >>> weights = [torch.tensor([[1.0, 2.0], [4.0, 3.0]])]
    >>> equivariant_split(declare_network([v, v]), weights).total_residual.round(decimals=12)
    tensor(2., dtype=torch.float64)
    """
    check_layer_weights(network, weights)
    inside, outside = [], []
    for maps, weight in zip(network.maps, weights, strict=True):
        norms = []
        for run in weight.detach().reshape(-1, *weight.shape[-2:]):
            wide = run.to(torch.float64)
            part = maps.project(wide)
            norms.append((torch.linalg.matrix_norm(part), torch.linalg.matrix_norm(wide - part)))
        runs = weight.shape[:-2]
        inside.append(torch.stack([one for one, _ in norms]).reshape(runs))
        outside.append(torch.stack([other for _, other in norms]).reshape(runs))
    return EquivariantSplit(torch.stack(inside), torch.stack(outside))


@explained
def rounding_off_e(dtype: torch.dtype) -> float:
    """`|A_{E_perp}| / |A|` that equivariant layers may have for being kept in a dtype.

    >>> rounding_off_e(torch.float64), rounding_off_e(torch.float32) < 1e-5
    (1e-10, True)
    """
    return max(ROUNDINGS * torch.finfo(dtype).eps, FOUND)


def check_one_in_e(network: DeclaredNetwork, weights: Sequence[Tensor], allowed: float) -> None:
    """Raise unless these are the layers of one network, without an axis of runs, finite and in E.

    Args:
        network: The network.
        weights: Layers of the network.
        allowed: `|A_{E_perp}| / |A|` that counts as none.
    """
    sizes = equivariant_split(network, weights)
    check_finite_layers(weights)
    if sizes.total_residual.ndim:
        raise InputError("expected layers of one network, without an axis of runs: take one run.")
    check_equivariant(sizes.total_residual, norm(weights), allowed)


@explained
def check_equivariant(outside: Tensor, size: Tensor, allowed: float) -> None:
    """Raise unless layers are in E.

    Args:
        outside: `|A_{E_perp}|` over all layers, `[*runs]`, computed in float64.
        size: `|A|`, `[*runs]`.
        allowed: Ratio of the two that counts as none.

    >>> check_equivariant(torch.tensor(1e-7), torch.tensor(1.0), rounding_off_e(torch.float32))
    """
    beyond = (outside > allowed * size).reshape(-1)
    if bool(beyond.any()):
        run = int(beyond.nonzero()[0])
        where = f" in run {run}" if outside.ndim else ""
        raise InputError(
            f"expected layers in E (|A_E_perp| at most {allowed:.1g} of |A|), got "
            f"{float(outside.reshape(-1)[run]):.3g} of {float(size.reshape(-1)[run]):.3g}{where}: draw them "
            "with equivariant_weights, or take project(network, weights)."
        )


@checked
def equivariant_weights(
    network: DeclaredNetwork,
    generator: torch.Generator,
    *,
    runs: tuple[int, ...] = (),
    scale: str = "standard",
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
) -> LayerWeights:
    """Random layers in E: standard Gaussians in an orthonormal basis of E.

    That is the distribution of a standard Gaussian matrix projected on E, without building the matrix.

    Args:
        network: Declaration of the layers.
        generator: Source of randomness, on the CPU; the same on every device.
        runs: Leading axes, one independent draw for each.
        scale: "standard", the paper's; "preserving" scales each layer to mean square Frobenius norm
            `dim X_{i+1}`, so that signals keep their size on average.
        dtype: Precision of the layers.
        device: Device holding the layers.

    Raises:
        InputError: Another scale.

    >>> from symscope.groups import cyclic, permutation
    >>> from symscope.dynamics import declare_network
    >>> v = permutation(cyclic(5))
    >>> net = declare_network([v, 3 * v, v])
    >>> weights = equivariant_weights(net, torch.Generator().manual_seed(0), runs=(4,))
    >>> weights[0].shape, bool(equivariant_split(net, weights).residual.max() < 1e-14)
    (torch.Size([4, 15, 5]), True)
    """
    layers = []
    for i, maps in enumerate(network.maps):
        drawn = torch.randn(*runs, maps.dimension, generator=generator, dtype=torch.float64)
        factor = _factor(scale, network.shapes[i][0], maps.dimension)
        layers.append(maps.combine((factor * drawn).to(device=device, dtype=dtype)))
    return tuple(layers)


@checked
def gaussian_weights(
    network: DeclaredNetwork,
    generator: torch.Generator,
    *,
    runs: tuple[int, ...] = (),
    scale: str = "standard",
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
) -> LayerWeights:
    """Random layers in all of L: independent Gaussians; arguments as in `equivariant_weights`.

    >>> from symscope.groups import cyclic, permutation
    >>> from symscope.dynamics import declare_network
    >>> v = permutation(cyclic(5))
    >>> gaussian_weights(declare_network([v, 3 * v]), torch.Generator().manual_seed(0))[0].shape
    torch.Size([15, 5])
    """
    layers = []
    device = usable_device(device, torch.empty(0))
    for rows, columns in network.shapes:
        drawn = torch.randn(*runs, rows, columns, generator=generator, dtype=torch.float64)
        layers.append((_factor(scale, rows, rows * columns) * drawn).to(device=device, dtype=dtype))
    return tuple(layers)


def _factor(scale: str, rows: int, dimension: int) -> float:
    if scale not in SCALES:
        raise InputError(f"expected the scale {' or '.join(SCALES)}, got {scale!r}.")
    return 1.0 if scale == "standard" or dimension == 0 else math.sqrt(rows / dimension)


@explained
def add(a: Sequence[Tensor], b: Sequence[Tensor], factor: float = 1.0) -> LayerWeights:
    """`a + factor b`, layer by layer.

    >>> add([torch.tensor(1.0)], [torch.tensor(2.0)], -0.5)
    (tensor(0.),)
    """
    return tuple(x + factor * y for x, y in _pairs(a, b))


def _pairs(a: Sequence[Tensor], b: Sequence[Tensor], axes: int = 0) -> list[tuple[Tensor, Tensor]]:
    """Layers of the same place in two lists, of at least so many axes and one shape, axes of runs aside."""
    pairs = list(zip(a, b, strict=False))
    fit = all(min(x.ndim, y.ndim) >= axes and x.shape[-2:] == y.shape[-2:] for x, y in pairs)
    fit = fit and all(
        m == n or 1 in (m, n)
        for x, y in pairs
        for m, n in zip(reversed(x.shape), reversed(y.shape), strict=False)
    )
    if not fit or not len(a) == len(b) == len(pairs) > 0:
        shapes = [[tuple(w.shape) for w in layers] for layers in (a, b)]
        raise InputError(f"expected layers of one network, got shapes {shapes[0]} and {shapes[1]}.")
    return pairs


@explained
def subtract(a: Sequence[Tensor], b: Sequence[Tensor]) -> LayerWeights:
    """`a - b`, layer by layer.

    >>> subtract([torch.tensor(1.0)], [torch.tensor(2.0)])
    (tensor(-1.),)
    """
    return tuple(x - y for x, y in _pairs(a, b))


@explained
def inner(a: Sequence[Tensor], b: Sequence[Tensor]) -> Tensor:
    """The inner product `sum_i tr(A_i^T B_i)`, `[*runs]`.

    >>> inner([torch.ones(2, 2), torch.ones(1, 2)], [torch.ones(2, 2), torch.ones(1, 2)])
    tensor(6.)
    """
    products = [(x * y).sum(dim=(-2, -1)) for x, y in _pairs(a, b, 2)]
    return torch.stack(torch.broadcast_tensors(*products)).sum(dim=0)


@explained
def norm(weights: Sequence[Tensor]) -> Tensor:
    """The norm `|A|` over all layers, `[*runs]`.

    >>> norm([torch.full((1, 1), 3.0), torch.full((1, 1), 4.0)])
    tensor(5.)
    """
    return torch.linalg.vector_norm(
        torch.stack([torch.linalg.matrix_norm(w) for w, _ in _pairs(weights, weights, 2)]), dim=0
    )


@checked
def coordinates(network: DeclaredNetwork, weights: Sequence[Tensor]) -> Tensor:
    """The coefficients of `Pi_E A` in orthonormal bases of the layers' Hom spaces, one after the other.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import declare_network
    >>> g = cyclic(2); net = declare_network([permutation(g), trivial(g)])
    >>> coordinates(net, [torch.ones(1, 2).double()]).round(decimals=6).tolist()
    [1.414214]
    """
    check_layer_weights(network, weights)
    result = [maps.coefficients(weight) for maps, weight in zip(network.maps, weights, strict=True)]
    return torch.cat(result, dim=-1)


@checked
def from_coordinates(network: DeclaredNetwork, c: Tensor) -> LayerWeights:
    """The equivariant layers with given coefficients: the inverse of `coordinates`.

    >>> from symscope.groups import cyclic, permutation, trivial
    >>> from symscope.dynamics import declare_network
    >>> g = cyclic(2); net = declare_network([permutation(g), trivial(g)])
    >>> from_coordinates(net, torch.tensor([2.0]).sqrt())[0].round(decimals=6).tolist()
    [[1.0, 1.0]]
    """
    sizes = [maps.dimension for maps in network.maps]
    return tuple(maps.combine(part) for maps, part in zip(network.maps, c.split(sizes, dim=-1), strict=True))


@explained
def flatten(weights: Sequence[Tensor]) -> Tensor:
    """All layers as one vector, `[*runs, parameters]`.

    >>> flatten([torch.ones(2, 3), torch.zeros(1, 2)]).shape
    torch.Size([8])
    """
    return torch.cat([w.flatten(-2) for w, _ in _pairs(weights, weights, 2)], dim=-1)


@explained
def unflatten(network: DeclaredNetwork, vector: Tensor) -> LayerWeights:
    """The layers in a vector made by `flatten`.

    >>> from symscope.groups import cyclic, permutation
    >>> from symscope.dynamics import declare_network
    >>> v = permutation(cyclic(2))
    >>> unflatten(declare_network([v, v]), torch.arange(4.0))[0].tolist()
    [[0.0, 1.0], [2.0, 3.0]]
    """
    if vector.ndim < 1 or vector.shape[-1] != network.parameters:
        raise InputError(f"expected [..., {network.parameters}] numbers, got shape {tuple(vector.shape)}.")
    pieces = vector.split([rows * columns for rows, columns in network.shapes], dim=-1)
    return tuple(piece.unflatten(-1, shape) for piece, shape in zip(pieces, network.shapes, strict=True))
