"""What goes into each layer and the signal that comes back to it, input by input and output by output.

In group g of a layer, the gradient of a combination of outputs with respect to its weights is
`sum_p signal[p] column[p]^T` over positions p; the column holds a 1 more if the layer has a bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.nn import functional

from symscope.kernels.finite._structure import (
    SPACE_AXES,
    Layer,
    RecordedEvaluation,
    intact_layers,
    record,
    submodule_key,
)
from symscope.networks import FunctionalModule, evaluation


@final
class StructureChangeError(Exception):
    """Layers that are not what they were on the first inputs; the module's control flow follows its data."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__(f"layers {sorted(names)} depend on the data")
        self.names = names


@final
@dataclass(frozen=True)
class Pass:
    """One evaluation, ready to send signals back.

    Attributes:
        network: The network.
        layers: The layers that signals are sent back to.
        seen: The evaluation, with its graph.
        columns: What goes into every layer, [g, n, positions, columns].
    """

    network: FunctionalModule
    layers: tuple[Layer, ...]
    seen: RecordedEvaluation
    columns: dict[str, Tensor]

    @property
    def count(self) -> int:
        """Inputs."""
        return self.seen.outputs.shape[0]

    def signals(self, cotangents: Float[Tensor, "c o"]) -> Iterator[dict[str, Tensor]]:
        """For each combination of outputs the signals at all layers, [g, n, positions, rows]."""
        edges: Any = [self.seen.calls[layer.name][0].edge for layer in self.layers]
        out = self.seen.outputs
        for cotangent in cotangents:
            result = torch.autograd.grad(out, edges, cotangent.expand_as(out), retain_graph=True)
            yield {
                layer.name: _signal(layer, self.network.module.get_submodule(layer.name), s)
                for layer, s in zip(self.layers, result, strict=True)
            }


def forward_pass(network: FunctionalModule, layers: tuple[Layer, ...], x: Shaped[Tensor, "n *s"]) -> Pass:
    """One evaluation with what goes into the layers.

    Args:
        network: The network.
        layers: Layers that `structured_layers` found.
        x: Inputs.

    Returns:
        The pass.

    Raises:
        StructureChangeError: If some layer is used differently on these inputs.
    """
    parameters = {layer.name: layer.parameters for layer in layers}
    with evaluation():
        seen = record(network, parameters, x, values=False)
        good = intact_layers(parameters, seen, len(x))
        changed = {
            layer.name
            for layer in layers
            if layer.name not in good or _rows(seen.calls[layer.name][0].shape) != _expected_rows(layer)
        }
        if changed:
            raise StructureChangeError(frozenset(changed))
        with torch.no_grad():
            columns = {
                layer.name: _columns(network, layer, seen.calls[layer.name][0].input.detach())
                for layer in layers
            }
    return Pass(network, layers, seen, columns)


def gradient(
    layer: Layer, columns: Float[Tensor, "g n p k"], signal: Float[Tensor, "g n p r"]
) -> Float[Tensor, "n w"]:
    """The layer's gradient for each input, from a signal."""
    if layer.elementwise:
        parts = [(signal * columns).sum(2)] if layer.weight else []
        parts += [signal.sum(2)] if layer.bias else []
        return torch.cat(parts, dim=2)[0]
    return (signal.mT @ columns).movedim(0, 1).flatten(1)


def _rows(shape: tuple[int, ...]) -> int:
    return torch.Size(shape[1:]).numel()


def _expected_rows(layer: Layer) -> int:
    return layer.groups * layer.positions * layer.rows


def _columns(network: FunctionalModule, layer: Layer, x: Tensor) -> Tensor:
    m: Any = network.module.get_submodule(layer.name)
    n = x.shape[0]
    if layer.elementwise:
        return _signal(layer, m, _normalised(network, layer.name, m, x))
    if layer.weight is None:
        return x.new_ones(layer.groups, n, layer.positions, 1)
    if type(m) is nn.Linear:
        result = x.reshape(1, n, layer.positions, m.in_features)
    else:
        patches = _patches(m, x)  # [n, groups * columns, positions]
        result = patches.reshape(n, layer.groups, -1, layer.positions).permute(1, 0, 3, 2)
    if layer.bias is None:
        return result
    return torch.cat([result, result.new_ones(*result.shape[:3], 1)], dim=3)


def _signal(layer: Layer, m: nn.Module, signal: Tensor) -> Tensor:
    n = signal.shape[0]
    if type(m) in (nn.Linear, nn.LayerNorm, nn.RMSNorm):
        return signal.reshape(1, n, layer.positions, layer.rows)
    by_channel = signal.reshape(n, layer.groups, layer.rows, layer.positions)
    return by_channel.permute(1, 0, 3, 2)


def _patches(conv: Any, x: Tensor) -> Tensor:
    """The patch of the padded input under the filter at each position, for any number of space axes."""
    sizes = conv.kernel_size
    if conv.padding == "same":
        totals = [d * (k - 1) for d, k in zip(conv.dilation, sizes, strict=True)]
        sides = [(total // 2, total - total // 2) for total in totals]
    else:
        padding = (0,) * len(sizes) if conv.padding == "valid" else conv.padding
        sides = [(p, p) for p in padding]
    if any(p for side in sides for p in side):
        flat = [p for side in reversed(sides) for p in side]  # functional.pad counts axes from the last
        x = functional.pad(x, flat, mode="constant" if conv.padding_mode == "zeros" else conv.padding_mode)
    dilation, stride = conv.dilation, conv.stride
    if SPACE_AXES[type(conv)] == 1:
        x, sizes, dilation, stride = x[:, :, None], (1, *sizes), (1, *dilation), (1, *stride)
    return functional.unfold(x, sizes, dilation=dilation, stride=stride)


def _normalised(network: FunctionalModule, name: str, m: Any, x: Tensor) -> Tensor:
    """A normalisation without its weights."""
    if isinstance(m, nn.LayerNorm):
        return functional.layer_norm(x, m.normalized_shape, eps=m.eps)
    if isinstance(m, nn.RMSNorm):
        return functional.rms_norm(x, m.normalized_shape, eps=m.eps)
    if isinstance(m, nn.GroupNorm):
        return functional.group_norm(x, m.num_groups, eps=m.eps)
    mean, variance = (
        network.fixed[submodule_key(name, f"running_{what}")].to(x.dtype) for what in ("mean", "var")
    )
    return functional.batch_norm(x, mean, variance, eps=m.eps)
