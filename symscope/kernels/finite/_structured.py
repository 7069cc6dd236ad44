"""The empirical NTK from layer inputs and signals, without the Jacobian.

For two inputs x, y and combinations of outputs a, b, a layer contributes

`sum_pq <column_p(x), column_q(y)> <signal_p^a(x), signal_q^b(y)>`

over pairs of positions: a column is what goes into the layer at a position (for a convolution, a patch), a
signal is what backpropagation brings to its output there. With one position that is all there is to compute.
With many, it may be cheaper to form the layer's own gradients `sum_p signal_p^a column_p^T` and multiply
those: each layer takes the form that counts fewer operations and bytes.

These are the structured derivatives of Novak, Sohl-Dickstein and Schoenholz 2022 (Fast finite width neural
tangent kernel, ICML), the order of contraction chosen layer by layer. Norms of single gradients from the same
factors go back to Goodfellow 2015 (arXiv:1510.01799), for convolutions to Rochette, Manoel and Tramel 2019
(arXiv:1912.06015).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import final

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from symscope.kernels.finite._contraction import assembled_matrix, inner_of_rows, sum_over_outputs
from symscope.kernels.finite._signals import Pass, forward_pass, gradient
from symscope.kernels.finite._structure import Layer
from symscope.kernels.finite._structured_plan import StructuredPlan
from symscope.networks import FunctionalModule, evaluation


@final
@dataclass(frozen=True)
class LayerFeatures:
    """All that is kept of some inputs.

    Attributes:
        gradients: Gradients of the layers kept in that form, [b, n, c, numbers of the gradient].
        columns: Inputs of the other layers, [g, b, n, positions, columns].
        signals: Signals back to those layers, [g, b, n, positions, c, rows].
    """

    gradients: dict[str, Tensor]
    columns: dict[str, Tensor]
    signals: dict[str, Tensor]


def structured_matrix(
    how: StructuredPlan,
    network: FunctionalModule,
    x1: Shaped[Tensor, "b n1 *s"],
    x2: Shaped[Tensor, "b n2 *s"] | None,
    cotangents: Float[Tensor, "c o"],
) -> Float[Tensor, "b n1 n2 *cc"]:
    """The part of the NTK that belongs to the plan's layers; as `contraction` otherwise.

    Raises:
        StructureChangeError: If some layer is used differently on some of these inputs.
    """

    def part(some: Tensor) -> Tensor:
        return assembled_matrix(
            lambda x: features(how, network, x, some),
            lambda first, second: feature_products(how, first, second),
            x1,
            x2,
            how.inputs_at_once,
            (len(some),) * 2 if how.whole else (),
            some,
        )

    return sum_over_outputs(part, cotangents, how.outputs_at_once)


def structured_norms(
    how: StructuredPlan,
    network: FunctionalModule,
    x: Shaped[Tensor, "n *s"],
    cotangents: Float[Tensor, "c o"],
) -> Float[Tensor, " n"]:
    """The part of `row_norms` that belongs to the plan's layers."""
    total = cotangents.new_zeros(len(x))
    for some in cotangents.split(how.outputs_at_once):
        start = 0
        for chunk in x.split(max(1, how.inputs_at_once)):
            result = features(how, network, chunk[None], some)
            part = total[start : start + len(chunk)]
            for rows in result.gradients.values():
                part += rows[0].flatten(1).square().sum(1)
            for layer in how.layers:
                if layer.name in how.factored:
                    part += _squares(how, layer, result)
            start += len(chunk)
    return total


def _squares(how: StructuredPlan, layer: Layer, result: LayerFeatures) -> Tensor:
    """Squared norms of a layer's gradients from its factors, as many inputs at a time as scratch holds."""
    at_once = max(1, how.scratch // how.pair_numbers(layer))
    columns = result.columns[layer.name][:, 0].split(at_once, dim=1)
    signals = result.signals[layer.name][:, 0].flatten(3).split(at_once, dim=1)
    parts = [((k @ k.mT) * (s @ s.mT)).sum((0, 2, 3)) for k, s in zip(columns, signals, strict=True)]
    return torch.cat(parts)


def features(
    how: StructuredPlan, network: FunctionalModule, x: Shaped[Tensor, "b n *s"], cotangents: Tensor
) -> LayerFeatures:
    """One forward pass, and one backward pass per combination of outputs, for each chunk of inputs."""
    with evaluation():
        kept = _empty(how, x.shape[0] * x.shape[1], cotangents)
        start = 0
        for chunk in x.flatten(0, 1).split(how.inputs_per_pass):
            _fill(how, kept, start, forward_pass(network, how.layers, chunk), cotangents)
            start += len(chunk)
    size = x.shape[:2]
    return LayerFeatures(
        {name: t.unflatten(0, size) for name, t in kept.gradients.items()},
        {name: t.unflatten(1, size) for name, t in kept.columns.items()},
        {name: t.unflatten(1, size) for name, t in kept.signals.items()},
    )


def _empty(how: StructuredPlan, inputs: int, cotangents: Tensor) -> LayerFeatures:
    kept, count = LayerFeatures({}, {}, {}), len(cotangents)
    for layer in how.layers:
        if layer.name not in how.factored:
            kept.gradients[layer.name] = cotangents.new_empty(inputs, count, layer.gradient)
            continue
        shape = (layer.groups, inputs, layer.positions)
        kept.columns[layer.name] = cotangents.new_empty(*shape, layer.columns)
        kept.signals[layer.name] = cotangents.new_empty(*shape, count, layer.rows)
    return kept


def _fill(how: StructuredPlan, kept: LayerFeatures, start: int, sent: Pass, cotangents: Tensor) -> None:
    """What is kept of the inputs of one pass, in its place."""
    part = slice(start, start + sent.count)
    for name, columns in kept.columns.items():
        columns[:, part] = sent.columns[name]
    for a, signals in enumerate(sent.signals(cotangents)):
        for layer in how.layers:
            signal = signals[layer.name]
            if layer.name in how.factored:
                kept.signals[layer.name][:, part, :, a] = signal
            else:
                kept.gradients[layer.name][part, a] = gradient(layer, sent.columns[layer.name], signal)


def feature_products(how: StructuredPlan, first: LayerFeatures, second: LayerFeatures) -> Tensor:
    """Inner products of gradients: [b, n1, n2, c, c], or their sum over equal c [b, n1, n2]."""
    total = inner_of_rows(first.gradients, second.gradients, how.whole) if first.gradients else None
    if not first.columns:
        assert total is not None  # a plan has layers
        return total
    k = next(iter(first.columns.values()))
    batch, n1 = k.shape[1:3]
    n2 = next(iter(second.columns.values())).shape[2]
    if total is None:
        count = next(iter(first.signals.values())).shape[4]
        total = k.new_zeros(batch, n1, n2, *((count, count) if how.whole else ()))
    for layer in how.layers:
        if layer.name in how.factored:
            _add_products(how, layer, first, second, total)
    return total


def _add_products(
    how: StructuredPlan, layer: Layer, first: LayerFeatures, second: LayerFeatures, total: Tensor
) -> None:
    """A layer's part from its factors, so many pairs of inputs at a time as the scratch memory holds."""
    batch, n1, n2 = total.shape[:3]
    pairs = max(1, how.scratch // how.pair_numbers(layer))
    depth = min(batch, pairs)
    width = min(n2, max(1, pairs // depth))
    height = max(1, pairs // (depth * width))
    compute = _whole_products if how.whole else _trace_products
    k1, k2 = first.columns[layer.name], second.columns[layer.name]
    s1, s2 = first.signals[layer.name], second.signals[layer.name]
    for start, top, left in product(range(0, batch, depth), range(0, n1, height), range(0, n2, width)):
        b, i, j = slice(start, start + depth), slice(top, top + height), slice(left, left + width)
        total[b, i, j] += compute(k1[:, b, i], k2[:, b, j], s1[:, b, i], s2[:, b, j])


def _trace_products(k1: Tensor, k2: Tensor, s1: Tensor, s2: Tensor) -> Tensor:
    positions = k1.shape[3]
    products = k1.flatten(2, 3) @ k2.flatten(2, 3).mT  # [g, b, n1 p, n2 q]
    products *= s1.flatten(4).flatten(2, 3) @ s2.flatten(4).flatten(2, 3).mT
    if positions == 1 and len(k1) == 1:
        return products[0]
    blocks = products.unflatten(3, (-1, positions)).unflatten(2, (-1, positions))
    return blocks.sum((0, 3, 5))


def _whole_products(k1: Tensor, k2: Tensor, s1: Tensor, s2: Tensor) -> Tensor:
    positions, count = s1.shape[3:5]
    products = (k1.flatten(2, 3) @ k2.flatten(2, 3).mT).unflatten(3, (-1, positions))
    products = products.unflatten(2, (-1, positions))  # [g, b, n1, p, n2, q]
    if positions == 1:
        signals = s1.flatten(2, 4) @ s2.flatten(2, 4).mT  # [g, b, n1 c, n2 d]
        blocks = signals.unflatten(3, (-1, count)).unflatten(2, (-1, count)).transpose(3, 4)
        return (products.squeeze(3).squeeze(-1)[..., None, None] * blocks).sum(0)
    # sum_pq K_pq s1_p^a . s2_q^b, first over q: pairs of outputs then cost positions, not pairs of positions
    mixed = products.transpose(3, 4) @ s2[:, :, None].flatten(5)  # [g, b, n1, n2, p, d r]
    mixed = mixed.unflatten(5, (count, -1)).transpose(4, 5).flatten(5)  # [g, b, n1, n2, d, p r]
    own = s1.transpose(3, 4).flatten(4)[:, :, :, None]  # [g, b, n1, 1, c, p r]
    return (own @ mixed.mT).sum(0)


def remaining_network(network: FunctionalModule, layers: tuple[Layer, ...]) -> FunctionalModule | None:
    """The same network with only the parameters of no layer trainable; None if there are none."""
    done = {name for layer in layers for name in layer.parameters}
    rest = {name: w for name, w in network.trainable.items() if name not in done}
    if not rest:
        return None
    fixed = {name: network.trainable[name] for name in done}
    return replace(network, trainable=rest, fixed={**network.fixed, **fixed})
