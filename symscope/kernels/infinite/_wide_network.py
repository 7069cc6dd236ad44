"""A wide network as a graph of operations: is it well defined, what must be computed, what shapes it has.

The rules for what is Gaussian and what is independent are those under which the limit is proven (Yang 2019,
Tensor programs I): a layer with fresh weights makes Gaussians whatever its input is, and branches that end in
different weights are uncorrelated, so that their kernels add (residual networks).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from enum import IntEnum
from typing import final

from symscope.errors import InputError
from symscope.kernels.infinite._operations import (
    Activate,
    AdaptivePool,
    Affine,
    Conv,
    Dense,
    Flatten,
    GlobalPool,
    Input,
    Node,
    Normalise,
    Operation,
    Pad,
    Pool,
    Sum,
    Unflatten,
    UnsupportedLayer,
)
from symscope.kernels.infinite._sliding_windows import Window
from symscope.numerics import checked


class Extent(IntEnum):
    """For which pairs of positions a covariance is needed."""

    NONE = 0
    EQUAL = 1  # the same position in both inputs: all that flattening needs
    ALL = 2  # every position of one with every position of the other: what pooling needs


@final
@dataclass(frozen=True)
class Law:
    """What is known about a node's values over random weights.

    Attributes:
        fixed: A function of the data alone: no weights yet.
        gaussian: Centred Gaussian in every channel, so that activations and norms can act.
        sources: The layers whose weights it is linear in, by node; disjoint sources are uncorrelated.
        flat: Several positions were joined into one axis of features.
        single: It has one position at most.
    """

    fixed: bool
    gaussian: bool
    sources: frozenset[int]
    flat: bool = False
    single: bool = False


def laws(nodes: tuple[Node, ...]) -> tuple[Law, ...]:
    """What is known about every node, checked: each operation must act on something it has a rule for.

    Raises:
        UnsupportedLayer: An activation or norm on values that are not centred Gaussians, or a sum of
            branches that are correlated.
    """
    result: list[Law] = []
    for index, node in enumerate(nodes):
        given = [result[i] for i in node.inputs]
        result.append(_law(index, node, given))
    return tuple(result)


def _law(index: int, node: Node, given: list[Law]) -> Law:
    operation = node.operation
    if isinstance(operation, Input):
        return Law(True, False, frozenset())
    if isinstance(operation, Dense | Conv):
        single = isinstance(operation, Dense) or (
            given[0].single and all(w.length(1) == 1 for w in operation.windows)
        )
        return Law(False, True, frozenset({index}), single=single)
    if isinstance(operation, Sum):
        return _sum_law(node, given)
    before = given[0]
    if before.fixed:
        return before
    kind = type(operation).__name__
    if isinstance(operation, Activate):
        if before.flat:
            reason = "an activation after Flatten; put it before Flatten, the network is the same"
            raise UnsupportedLayer(node.name, kind, reason)
        if not before.gaussian:
            reason = "its input is not a centred Gaussian (two activations, or a sum with one, in a row)"
            raise UnsupportedLayer(node.name, kind, f"{reason}; put a Linear or Conv layer in between")
        return Law(False, False, before.sources, single=before.single)
    if isinstance(operation, Affine):
        reason = "a constant is added, so the mean is not zero, or channels get factors of their own"
        raise UnsupportedLayer(node.name, kind, f"{reason}; only the data may be shifted and scaled so")
    if isinstance(operation, Normalise) and operation.centred and not before.gaussian:
        reason = "it normalises what is not a centred Gaussian; put it right after a Linear or Conv layer"
        raise UnsupportedLayer(node.name, kind, reason)
    if isinstance(operation, Unflatten):
        raise UnsupportedLayer(node.name, kind, "only the data can be reshaped into positions")
    if isinstance(operation, GlobalPool):
        return Law(False, before.gaussian, before.sources, single=True)
    if isinstance(operation, Flatten):
        return Law(False, before.gaussian, before.sources, flat=not before.single, single=True)
    single = before.single and not isinstance(operation, Pad)
    return Law(False, before.gaussian, before.sources, before.flat, single)


def _sum_law(node: Node, given: list[Law]) -> Law:
    if all(law.fixed for law in given):
        return Law(True, False, frozenset())
    sources: frozenset[int] = frozenset()
    for law in given:
        if sources & law.sources:
            reason = "the branches share weights without a fresh layer in between, so they are correlated"
            raise UnsupportedLayer(
                node.name, "sum", f"{reason}; end one branch with its own Linear or Conv layer"
            )
        sources |= law.sources
    if sum(not law.gaussian for law in given) > 1:
        reason = "more than one branch has a mean that is not zero"
        raise UnsupportedLayer(node.name, "sum", f"{reason}; end the others with a Linear or Conv layer")
    return Law(
        False,
        all(law.gaussian for law in given),
        sources,
        any(law.flat for law in given),
        all(law.single for law in given),
    )


def needed_extent(operation: Operation, wanted: Extent) -> Extent:
    """For which pairs of positions the input of an operation is needed, if its output is for `wanted`.

    >>> needed_extent(GlobalPool(keep=False), Extent.EQUAL), needed_extent(Flatten(), Extent.ALL)
    (<Extent.ALL: 2>, <Extent.EQUAL: 1>)
    """
    if wanted is Extent.NONE:
        return wanted
    if isinstance(operation, GlobalPool | AdaptivePool):
        return Extent.ALL
    if isinstance(operation, Pool):
        return wanted if all(w.trivial for w in operation.windows) else Extent.ALL
    if isinstance(operation, Flatten):
        return Extent.EQUAL
    return wanted


@checked
@final
@dataclass(frozen=True)
class WideNetwork:
    """A wide network: its steps in order, the last one the output.

    Attributes:
        nodes: The steps.
        name: Name of the user's module.
    """

    nodes: tuple[Node, ...]
    name: str

    @functools.cached_property
    def laws(self) -> tuple[Law, ...]:
        """What is known about every node; raises `UnsupportedLayer` where there is no rule."""
        return laws(self.nodes)

    @functools.cached_property
    def extents(self) -> tuple[Extent, ...]:
        """Pairs of positions needed between two inputs, by node, from the output backwards."""
        return self._backwards(Extent.EQUAL, Extent.NONE)

    @functools.cached_property
    def own_extents(self) -> tuple[Extent, ...]:
        """Pairs of positions needed within one input: what activations and norms divide by."""
        return self._backwards(Extent.NONE, Extent.EQUAL)

    @functools.cached_property
    def last_uses(self) -> tuple[int, ...]:
        """The last node that reads each node."""
        last = list(range(len(self.nodes)))
        for index, node in enumerate(self.nodes):
            for i in node.inputs:
                last[i] = index
        return tuple(last)

    def _backwards(self, output: Extent, divisor: Extent) -> tuple[Extent, ...]:
        wanted = [Extent.NONE] * len(self.nodes)
        wanted[-1] = output
        for index in reversed(range(len(self.nodes))):
            node = self.nodes[index]
            need = needed_extent(node.operation, wanted[index])
            if isinstance(node.operation, Activate | Normalise):
                need = max(need, divisor)
            for i in node.inputs:
                wanted[i] = max(wanted[i], need)
        return tuple(wanted)

    def shapes(self, features: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        """Shape of every node for inputs of shape `features`: channels first, then positions.

        Raises:
            InputError: Names the layer that cannot take its input.
        """
        result: list[tuple[int, ...]] = []
        for node in self.nodes:
            result.append(_shape(node, [result[i] for i in node.inputs] or [features]))
        if len(result[-1]) > 1 and math.prod(result[-1][1:]) > 1:
            raise InputError(
                f"{self.name}: expected one vector per input at the end, got positions {result[-1][1:]}; "
                "end with Flatten and Linear, or with global average pooling"
            )
        return tuple(result)

    def entry_numbers(self, features: tuple[int, ...]) -> float:
        """How many covariances are propagated for one entry of a Gram matrix of inputs of shape `features`.

        Positions, or pairs of positions where layers pool.

        Raises:
            InputError: Names the layer that cannot take its input.
        """
        total = 0.0
        for law, extent, shape in zip(self.laws, self.extents, self.shapes(features), strict=True):
            positions = math.prod(shape[1:])
            if extent is Extent.ALL:
                total += positions**2
            elif extent is Extent.EQUAL and not law.fixed:  # the data's own products are one matrix product
                total += positions
        return total


def _shape(node: Node, given: list[tuple[int, ...]]) -> tuple[int, ...]:
    operation, shape = node.operation, given[0]
    if isinstance(operation, Sum):
        if any(other != shape for other in given):
            raise InputError(f"layer {node.name!r}: expected branches of one shape, got {given}")
        return shape
    if isinstance(operation, Dense):
        expected = (operation.features_in,)
        if shape != expected:
            hint = "flatten first" if len(shape) > 1 else "check the input"
            raise InputError(f"layer {node.name!r}: expected inputs of shape {expected}, got {shape}; {hint}")
        return (operation.features_out,)
    if isinstance(operation, Conv):
        return (operation.channels_out, *_conv_positions(node, operation, shape))
    if isinstance(operation, Pool):
        return (shape[0], *_window_positions(node, operation.windows, shape))
    if isinstance(operation, AdaptivePool):
        return (shape[0], *_adaptive_positions(node, operation, shape))
    if isinstance(operation, Affine):
        _check_broadcast(node, operation, shape)
    if isinstance(operation, Pad):
        return (shape[0], *_padded_positions(node, operation, shape))
    if isinstance(operation, GlobalPool):
        if len(shape) == 1 or operation.axes not in (None, len(shape) - 1):
            count = operation.axes or "some"
            raise InputError(
                f"layer {node.name!r}: expected {count} axes of positions to pool over, got {shape}"
            )
        return (shape[0], *([1] * (len(shape) - 1) if operation.keep else []))
    if isinstance(operation, Flatten):
        if operation.features not in (None, math.prod(shape)):
            raise InputError(
                f"layer {node.name!r}: expected {operation.features} features, got shape {shape}"
            )
        return (math.prod(shape),)
    if isinstance(operation, Unflatten):
        if math.prod(operation.shape) != math.prod(shape):
            raise InputError(f"layer {node.name!r}: expected {operation.shape} features, got shape {shape}")
        return operation.shape
    if isinstance(operation, Normalise) and operation.shape not in (None, shape):
        raise InputError(f"layer {node.name!r}: expected inputs of shape {operation.shape}, got {shape}")
    return shape


def _conv_positions(node: Node, conv: Conv, shape: tuple[int, ...]) -> tuple[int, ...]:
    if len(shape) != 1 + len(conv.windows) or shape[0] != conv.channels_in:
        expected = f"({conv.channels_in}{', *' * len(conv.windows)})"
        raise InputError(
            f"layer {node.name!r}: expected inputs of shape {expected}, got {shape}; channels come first"
        )
    return _window_positions(node, conv.windows, shape)


def _window_positions(node: Node, windows: tuple[Window, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    if len(shape) != 1 + len(windows):
        raise InputError(f"layer {node.name!r}: expected {len(windows)} axes of positions, got shape {shape}")
    for window, size in zip(windows, shape[1:], strict=True):
        if window.length(size) < 1:
            raise InputError(f"layer {node.name!r}: its window is larger than its input of shape {shape}")
        if window.circular and max(window.before, window.after) > size:
            raise InputError(f"layer {node.name!r}: circular padding wraps more than once around {shape}")
    return tuple(window.length(size) for window, size in zip(windows, shape[1:], strict=True))


def _adaptive_positions(node: Node, pool: AdaptivePool, shape: tuple[int, ...]) -> tuple[int, ...]:
    if len(shape) != 1 + len(pool.sizes) or any(
        n % (k or n) for n, k in zip(shape[1:], pool.sizes, strict=True)
    ):
        raise InputError(
            f"layer {node.name!r}: expected positions that its output size {pool.sizes} divides, got shape "
            f"{shape}; use AvgPool, or another output size"
        )
    return tuple(k or n for n, k in zip(shape[1:], pool.sizes, strict=True))


def _check_broadcast(node: Node, operation: Affine, shape: tuple[int, ...]) -> None:
    for constant in (operation.factor, operation.shift):
        sizes = (*[1] * (len(shape) + 1 - constant.ndim), *constant.shape)
        if len(sizes) != len(shape) + 1 or any(
            a not in (1, b) for a, b in zip(sizes, (1, *shape), strict=True)
        ):
            raise InputError(
                f"layer {node.name!r}: expected a constant that fits one input of shape {shape}, got shape "
                f"{tuple(constant.shape)}"
            )


def _padded_positions(node: Node, pad: Pad, shape: tuple[int, ...]) -> tuple[int, ...]:
    if len(shape) != 1 + len(pad.before):
        raise InputError(
            f"layer {node.name!r}: expected {len(pad.before)} axes of positions, got shape {shape}"
        )
    limit = {"zeros": math.inf, "replicate": math.inf, "circular": 0, "reflect": -1}[pad.mode]
    for front, behind, size in zip(pad.before, pad.after, shape[1:], strict=True):
        if max(front, behind) > size + limit:
            raise InputError(
                f"layer {node.name!r}: {pad.mode} padding is too wide for inputs of shape {shape}"
            )
    return tuple(f + b + n for f, b, n in zip(pad.before, pad.after, shape[1:], strict=True))
