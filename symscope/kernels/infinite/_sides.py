"""What belongs to one set of inputs of a wide network, before pairs are formed.

Variances follow the diagonal of the same recursion as covariances, `q <- w_var A(q) + b_var`, `q <-
E[phi(u)^2]` (the mean-field recursion of Poole et al. 2016). They are computed exactly, not read off a
covariance: an angle near zero keeps only half of the digits of its cosine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.kernels._threads import each
from symscope.kernels.infinite import _operation_steps as layers
from symscope.kernels.infinite._operation_steps import data_step, own_covariance
from symscope.kernels.infinite._operations import Activate, Conv, Dense, Normalise, Operation, Sum
from symscope.kernels.infinite._wide_network import Extent, WideNetwork, needed_extent

# Covariances in flight at once: what a core's cache, or a GPU, digests well.
PIECES = {"cpu": 1 << 19, "cuda": 1 << 25}


def piece_size(device: torch.device) -> int:
    """How many covariances are worked on at once on a device."""
    return PIECES.get(device.type, PIECES["cuda"])


@final
@dataclass(frozen=True)
class InputSide:
    """What is known about one set of inputs before pairs are formed; every tensor starts `[b, n, ...]`.

    Attributes:
        data: The data at each node that has no weights before it, else None.
        patches: Windows at each convolution of data that all pairs of positions need, else None.
        variances: Variances of the input of each activation and norm, `[b, n, *p]`, else None.
    """

    data: tuple[Tensor | None, ...]
    patches: tuple[Tensor | None, ...]
    variances: tuple[Tensor | None, ...]

    def part(self, batch: slice, rows: slice) -> InputSide:
        """Some of the inputs."""
        return InputSide(*(_cut(t, batch, rows) for t in (self.data, self.patches, self.variances)))


def _cut(tensors: tuple[Tensor | None, ...], batch: slice, rows: slice) -> tuple[Tensor | None, ...]:
    return tuple(None if t is None else t[batch, rows] for t in tensors)


def side(network: WideNetwork, x: Float[Tensor, "b n *s"]) -> InputSide:
    """Everything about one set of inputs that does not depend on its partners.

    Raises:
        InputError: A norm meets an input whose variance is zero.
    """
    data: list[Tensor | None] = []
    patches: list[Tensor | None] = [None] * len(network.nodes)
    for index, (node, law) in enumerate(zip(network.nodes, network.laws, strict=True)):
        fixed = None
        if law.fixed:
            given = [t for i in node.inputs if (t := data[i]) is not None]
            fixed = data_step(node.operation, given, 2) if given else x
        data.append(fixed)
        before = data[node.inputs[0]] if node.inputs else None
        wanted = network.extents[index]
        if isinstance(node.operation, Conv) and before is not None and wanted is Extent.ALL:
            patches[index] = layers.window_patches(before, node.operation)
    return InputSide(tuple(data), tuple(patches), _variances(network, data, x))


def _variances(network: WideNetwork, data: list[Tensor | None], x: Tensor) -> tuple[Tensor | None, ...]:
    """Variances at every activation and norm; a few inputs at a time where pairs of positions are needed."""
    shapes = network.shapes(tuple(x.shape[2:]))
    count = len(network.nodes)
    if all(extent is Extent.NONE for extent in network.own_extents):
        return (None,) * count
    biggest = covariance_count(shapes, network.own_extents)
    step = max(1, piece_size(x.device) // biggest)
    flat = [None if d is None else d.flatten(0, 1)[None] for d in data]
    total = x.shape[0] * x.shape[1]

    def compute(i: int) -> list[Tensor | None]:
        return _own_propagated(network, shapes, [None if d is None else d[:, i : i + step] for d in flat])

    parts = each(compute, range(0, total, step), x.device)
    joined: list[Tensor | None] = []
    for pieces in zip(*parts, strict=True):
        present = [p for p in pieces if p is not None]
        joined.append(torch.cat(present, 1)[0].unflatten(0, x.shape[:2]) if present else None)
    return tuple(joined)


def _own_propagated(
    network: WideNetwork, shapes: tuple[tuple[int, ...], ...], data: list[Tensor | None]
) -> list[Tensor | None]:
    """Variances at every activation and norm, from covariances of each input with itself, `[b, n, ...]`."""
    result: list[Tensor | None] = [None] * len(shapes)
    states: dict[int, Tensor] = {}
    for index, node in enumerate(network.nodes):
        operation, wanted = node.operation, network.own_extents[index]
        if network.laws[index].fixed or not node.inputs:
            continue
        divides = isinstance(operation, Activate | Normalise)
        need = max(needed_extent(operation, wanted), Extent.EQUAL if divides else Extent.NONE)
        if need is Extent.NONE:
            continue
        axes = [len(shapes[i]) - 1 for i in node.inputs]
        given = []
        for i, a in zip(node.inputs, axes, strict=True):
            fixed = data[i]
            if fixed is not None:
                given.append(own_covariance(fixed, a, need is Extent.ALL))
            else:
                given.append(layers.restricted_covariance(states[i], a, network.own_extents[i], need).clone())
        variance = layers.restricted_covariance(given[0], axes[0], need, Extent.EQUAL) if divides else None
        if variance is not None:
            result[index] = variance.clone()
            _check_norm(node.name, operation, variance)
        if wanted is not Extent.NONE:
            k = _own_step(operation, given, variance, axes[0], need)
            states[index] = layers.restricted_covariance(
                k, len(shapes[index]) - 1, layers.extent_left(operation, need), wanted
            )
        for i in node.inputs:
            if network.last_uses[i] == index:
                states.pop(i, None)
    return result


def _own_step(
    operation: Operation, given: list[Tensor], variance: Tensor | None, axes: int, need: Extent
) -> Tensor:
    k = given[0]
    if isinstance(operation, Activate):
        assert variance is not None
        exact = operation.dual.variance(variance)[0]
        if need is not Extent.ALL or axes == 0:
            return exact
        q1, q2 = (place(variance, axes, need) for place in (layers.first_variances, layers.second_variances))
        k = operation.dual.covariance(k, q1, q2, False)[0]
        layers.equal_positions(k, axes).copy_(exact.flatten(2))
        return k
    if isinstance(operation, Normalise):
        assert variance is not None
        root = layers.squared_norm(operation, variance, axes).sqrt()
        return k.div_(layers.first_variances(root, axes, need)).div_(
            layers.second_variances(root, axes, need)
        )
    if isinstance(operation, Dense | Conv):
        if isinstance(operation, Conv):
            k = layers.convolved_covariance(k, operation, need)
        return k.mul_(operation.weights.w_var).add_(operation.weights.b_var)
    if isinstance(operation, Sum):
        return torch.stack(given).sum(0)
    return layers.linear_step(operation, k, axes, need)


def _check_norm(name: str, operation: Operation, variance: Tensor) -> None:
    if isinstance(operation, Normalise) and not bool((variance + operation.eps > 0).all()):
        raise InputError(
            f"layer {name!r}: expected inputs with a variance to normalise by, got one that is zero; "
            "remove zero inputs or give the norm an eps > 0"
        )


def covariance_count(shapes: tuple[tuple[int, ...], ...], extents: tuple[Extent, ...]) -> int:
    """The largest number of covariances per pair of inputs at any node.

    >>> covariance_count(((1, 8, 8), (16, 8, 8), (16,)), (Extent.NONE, Extent.ALL, Extent.EQUAL))
    4096
    """
    return max(
        math.prod(shape[1:]) ** (2 if extent is Extent.ALL else 1)
        for shape, extent in zip(shapes, extents, strict=True)
        if extent is not Extent.NONE
    )


def side_count(network: WideNetwork, shapes: tuple[tuple[int, ...], ...]) -> int:
    """Numbers an `InputSide` keeps for each input: data before any weights, their windows, and variances."""
    count = 0
    for index, node in enumerate(network.nodes):
        shape = shapes[index]
        if network.laws[index].fixed:
            count += math.prod(shape)
        operation = node.operation
        if isinstance(operation, Activate | Normalise):
            count += math.prod(shapes[node.inputs[0]][1:])
        on_data = isinstance(operation, Conv) and network.laws[node.inputs[0]].fixed
        if isinstance(operation, Conv) and on_data and network.extents[index] is Extent.ALL:
            taps = math.prod(window.size for window in operation.windows)
            count += math.prod(shape[1:]) * shapes[node.inputs[0]][0] * taps
    return count
