"""Layers whose gradients are products of what goes in and what comes back, found in a finite network.

For `nn.Linear`, `nn.Conv1d`, `nn.Conv2d` and normalisations with elementwise weights, the gradient of an
output with respect to the layer's weights follows from the layer's input and the signal propagated back to
its output: the structured derivatives of Novak, Sohl-Dickstein and Schoenholz 2022, which BackPACK (Dangel,
Kunstner and Hennig 2020) uses for second-order quantities. That holds if the layer is what it seems: called
once, its weights used nowhere else, one row of its output for each input. A module runs any Python, so
nothing is taken on trust: all is checked on the autograd graph of every evaluation, and what does not pass is
left to the general method.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge

from symscope.networks import FunctionalModule, is_view

NORMS = (
    nn.LayerNorm,
    nn.RMSNorm,
    nn.GroupNorm,
    nn.BatchNorm1d,
    nn.BatchNorm2d,
    nn.BatchNorm3d,
)
SPACE_AXES = {nn.Conv1d: 1, nn.Conv2d: 2}
# PyTorch has no public way to ask whether a module has hooks
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


@final
@dataclass(frozen=True)
class Layer:
    """A layer whose gradient is a sum over positions of an outer product, in each of its groups.

    Attributes:
        name: Name of the module within the network.
        weight: The name of its weight, if that is trainable.
        bias: The name of its bias, if that is trainable.
        positions: Places in time or space at which the weights are used.
        groups: Groups of channels that have weights of their own.
        columns: Numbers that go in per group and position (an image patch, say), and 1 for the bias.
        rows: Numbers that come out per group and position.
        elementwise: Whether the weight multiplies numbers one by one, as in normalisations.
    """

    name: str
    weight: str | None
    bias: str | None
    positions: int
    groups: int
    columns: int
    rows: int
    elementwise: bool

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its trainable parameters."""
        return tuple(name for name in (self.weight, self.bias) if name is not None)

    @property
    def gradient(self) -> int:
        """Numbers in the gradient of one output."""
        return self.groups * self.rows * (len(self.parameters) if self.elementwise else self.columns)


@final
@dataclass(frozen=True)
class Call:
    """One call of a layer: what went in, and where in the graph its output is."""

    input: Tensor
    version: int
    output: Tensor | None
    shape: tuple[int, ...]
    edge: GradientEdge | None


@final
@dataclass(frozen=True)
class RecordedEvaluation:
    """One evaluation of a network with the calls of its layers."""

    outputs: Tensor
    calls: dict[str, list[Call]] = field(default_factory=dict)
    leaves: dict[str, Tensor] = field(default_factory=dict)


def record(
    network: FunctionalModule, layers: dict[str, tuple[str, ...]], x: Tensor, values: bool
) -> RecordedEvaluation:
    """One evaluation, with a graph in which the parameters of the given layers are leaves.

    Args:
        network: The network.
        layers: Names of layers with the names of their parameters.
        x: Inputs [n, *shape].
        values: Whether to keep the outputs of layers too.

    Returns:
        The record. To be called inside `evaluation()`: hooks are set on the network's private module.
    """
    x, weights = _normal(x), network.weights(network.dtype_for(x))
    weights = {name: _normal(w) for name, w in weights.items()}
    leaves = {name: weights[name].detach().requires_grad_() for names in layers.values() for name in names}
    with _hooks(network.module, layers, values) as calls:
        out = network.outputs({**weights, **leaves}, x)
    return RecordedEvaluation(out, calls, leaves)


def intact_layers(parameters: dict[str, tuple[str, ...]], seen: RecordedEvaluation, count: int) -> set[str]:
    """Layers called once, on one row per input, whose parameters nothing else uses."""
    nodes, uses = _graph(seen.outputs)
    leaf_uses = {name: uses[id(leaf)] for name, leaf in seen.leaves.items()}
    good = set()
    for name, names in parameters.items():
        calls = seen.calls.get(name, [])
        if len(calls) != 1 or any(leaf_uses[p] != 1 for p in names):
            continue
        call = calls[0]
        if (
            call.edge is not None
            and call.edge.node in nodes
            and call.input._version == call.version  # not overwritten since
            and call.input.shape[:1] == call.shape[:1] == (count,)
        ):
            good.add(name)
    return good


def structured_layers(network: FunctionalModule, x: Tensor, excluded: frozenset[str]) -> tuple[Layer, ...]:
    """The layers of a network whose gradients are products, tried on two inputs together and apart.

    Args:
        network: The network.
        x: Inputs [n, *shape]; the first two are used.
        excluded: Names of layers to leave out.

    Returns:
        The layers, in the order of the network's modules. To be called inside `evaluation()`.
    """
    parameters = {k: v for k, v in _candidates(network).items() if k not in excluded}
    if not parameters:
        return ()
    pair = x[:2] if len(x) > 1 else torch.cat([x, x])
    both = record(network, parameters, pair, values=True)
    apart = [record(network, parameters, one[None], values=True) for one in pair]
    good = intact_layers(parameters, both, 2)
    for one in apart:
        good &= intact_layers(parameters, one, 1)
    good = {name for name in good if _separate(both.calls[name][0], [r.calls[name][0] for r in apart])}
    good = _own_signals(both, good)
    return tuple(
        layer
        for name in parameters
        if name in good and (layer := _layer(network, name, parameters[name], both.calls[name][0]))
    )


def submodule_key(name: str, what: str) -> str:
    """The name of a submodule's parameter or buffer in the network."""
    return f"{name}.{what}" if name else what


def _normal(t: Tensor) -> Tensor:
    """A tensor a graph can be built on, whatever mode it was made in."""
    return t.clone() if t.is_inference() else t


@contextmanager
def _hooks(
    module: nn.Module, layers: dict[str, tuple[str, ...]], values: bool
) -> Iterator[dict[str, list[Call]]]:
    calls: dict[str, list[Call]] = {name: [] for name in layers}

    def hook_for(name: str) -> Any:
        def hook(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Tensor) -> Tensor:
            given = args[0] if args else kwargs["input"]
            if is_view(output):  # overwriting a view in place would take its edge out of the graph
                output = output.clone()
            # the edge, not the output: a later operation may overwrite the output in place
            edge = get_gradient_edge(output) if output.requires_grad else None
            kept = output.detach().clone() if values else None
            calls[name].append(Call(given, given._version, kept, tuple(output.shape), edge))
            return output

        return hook

    handles = [
        module.get_submodule(name).register_forward_hook(hook_for(name), with_kwargs=True) for name in layers
    ]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def _candidates(network: FunctionalModule) -> dict[str, tuple[str, ...]]:
    """Modules of the known kinds, unaltered, with their trainable parameters, which no other module has."""
    names = {id(p): name for name, p in network.module.named_parameters() if name in network.trainable}
    owners = Counter(id(p) for m in network.module.modules() for p in _own_parameters(m).values())
    result = {}
    for name, m in network.module.named_modules():
        kind = type(m)  # not isinstance: a subclass may compute anything
        if kind is not nn.Linear and kind not in SPACE_AXES and kind not in NORMS:
            continue
        altered = "forward" in m.__dict__ or any(getattr(m, hooks) for hooks in _HOOKS) or m.training
        own = _own_parameters(m)
        if altered or "weight" not in own or not own.keys() <= {"weight", "bias"}:
            continue
        trained = tuple(names[id(p)] for p in own.values() if id(p) in names)
        if trained and all(owners[id(p)] == 1 for p in own.values()):
            result[name] = trained
    return result


def _own_parameters(module: nn.Module) -> dict[str, Tensor]:
    return dict(module.named_parameters(recurse=False, remove_duplicate=False))


def _graph(out: Tensor) -> tuple[set[Node], Counter[int]]:
    """All nodes of the graph of a tensor, and how many of them use each leaf."""
    nodes: set[Node] = set()
    uses: Counter[int] = Counter()
    waiting = [out.grad_fn] if out.grad_fn is not None else []
    while waiting:
        node = waiting.pop()
        if node in nodes:
            continue
        nodes.add(node)
        for following, _ in node.next_functions:
            if following is None:
                continue
            leaf = getattr(following, "variable", None)
            if leaf is not None:
                uses[id(leaf)] += 1
            waiting.append(following)
    return nodes, uses


def _separate(both: Call, apart: list[Call]) -> bool:
    """Whether the layer does the same to each of two inputs, alone or together."""
    if any(one.shape[1:] != both.shape[1:] for one in apart):
        return False
    assert both.output is not None
    alone = torch.cat([one.output for one in apart if one.output is not None])
    tolerance = torch.finfo(alone.dtype).eps ** 0.5 * both.output.abs().max()
    return bool((alone - both.output).abs().max() <= tolerance)


def _own_signals(both: RecordedEvaluation, names: set[str]) -> set[str]:
    """Layers to whose row for the one input no signal comes from the outputs for the other."""
    if not names:
        return names
    order = sorted(names)
    edges = [both.calls[name][0].edge for name in order]
    good = set(names)
    for i in range(2):
        cotangent = torch.zeros_like(both.outputs)
        cotangent[i] = torch.arange(1, both.outputs.shape[1] + 1)
        signals = torch.autograd.grad(both.outputs, edges, cotangent, retain_graph=True)  # type: ignore[arg-type]
        good -= {name for name, s in zip(order, signals, strict=True) if s[1 - i].count_nonzero()}
    return good


def _layer(network: FunctionalModule, name: str, parameters: tuple[str, ...], call: Call) -> Layer | None:
    """The sizes of a layer, from the shapes of one call; None if it was called in an unusual way."""
    m: Any = network.module.get_submodule(name)
    weight, bias = (
        next((p for p in parameters if p == submodule_key(name, what) or p.endswith("." + what)), None)
        for what in ("weight", "bias")
    )
    after = call.shape[1:]
    numbers = torch.Size(after).numel()
    if numbers == 0 or not after:
        return None
    if type(m) in NORMS:
        by_channel = not isinstance(m, (nn.LayerNorm, nn.RMSNorm))
        rows = after[0] if by_channel else m.weight.numel()
        return Layer(name, weight, bias, numbers // rows, 1, rows, rows, True)
    one = bias is not None
    if type(m) is nn.Linear:
        columns = (m.in_features if weight else 0) + one
        return Layer(name, weight, bias, numbers // m.out_features, 1, columns, m.out_features, False)
    if call.input.ndim != SPACE_AXES[type(m)] + 2:
        return None
    columns = (m.weight[0].numel() if weight else 0) + one
    rows = m.out_channels // m.groups
    return Layer(name, weight, bias, numbers // m.out_channels, m.groups, columns, rows, False)
