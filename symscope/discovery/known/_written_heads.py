"""Hidden spaces of attention written out: labels of units follow reshapes to the products where they meet.

This is abstract interpretation of the torch.fx graph. A linear layer's outputs are replaced by their places,
0, 1, 2, ..., whose remainders are the numbers of the units; whatever only moves numbers (reshape, transpose,
chunk) moves these too. At `q @ k^T` the labels then show which units of both layers are summed over, head by
head, and at the layer that reads the values which of its columns belongs to which unit.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import torch
from torch import Tensor, fx, nn
from torch.nn import functional

from symscope.discovery._parameter_layout import ParameterLayout
from symscope.discovery._parameter_problem import ParameterProblem
from symscope.discovery.known._attention_spaces import unit_rows
from symscope.discovery.known._spaces import ActivationKind, HiddenSide, HiddenSpace
from symscope.networks import evaluation

MOVES = {
    *("reshape", "view", "flatten", "unflatten", "squeeze", "unsqueeze", "contiguous"),
    *("transpose", "permute", "swapaxes", "movedim", "t", "chunk", "split", "unbind", "getitem"),
}
STAYS = (nn.Identity, nn.Dropout)


@final
@dataclass
class _Layer:
    """A linear layer and where its units go.

    Attributes:
        name: Name of the layer.
        rows: Positions of the layer's weights by unit.
        labels: Places of the outputs at every node they reach by moves alone.
        ends: Nodes that do something else with them: (node, the argument that holds them).
        products: Rows of units `[heads, d]` that a node sums over, as its left or right factor.
        values: Rows of units that a node carries along, each row a head.
    """

    name: str
    rows: Tensor
    labels: dict[fx.Node, Any] = field(default_factory=dict)
    ends: list[tuple[fx.Node, fx.Node]] = field(default_factory=list)
    products: dict[tuple[fx.Node, str], Tensor] = field(default_factory=dict)
    values: list[Tensor] = field(default_factory=list)

    def units(self, labels: Tensor) -> Tensor:
        """The units at these places."""
        return labels % len(self.rows)

    def once(self, units: Tensor) -> bool:
        """Whether each of these units is there once, and used in one place."""
        uses = torch.zeros(len(self.rows), dtype=torch.int64)
        for _, argument in self.ends:
            labels = self.labels[argument]  # several tensors after a chunk
            places = [part.reshape(-1) for part in (labels if isinstance(labels, tuple) else (labels,))]
            uses[torch.unique(self.units(torch.cat(places)))] += 1
        return len(torch.unique(units)) == units.numel() and bool((uses[units] == 1).all())


def written_spaces(
    problem: ParameterProblem, graph: fx.Graph, layers: Sequence[tuple[str, fx.Node]], known: set[str]
) -> list[HiddenSpace]:
    """Queries and keys of attention written out, head by head, and values with the layer that reads them.

    Args:
        problem: Network and loss.
        graph: The network's torch.fx graph.
        layers: Linear layers that are called once, each with its call.
        known: Layers whose units were followed to their readers without reshapes.

    Returns:
        A space for every head; none where units are shared, scaled by data or used elsewhere too.
    """
    module, layout = problem.network.module, problem.layout
    named = dict(module.named_modules())
    interpreter = fx.Interpreter(fx.GraphModule(module, graph), garbage_collect_values=False)
    try:
        with evaluation(), torch.no_grad():
            interpreter.run(problem.random_points(1, 2, seed=0).x[0])
    except Exception:  # a graph that was traced on other ways than this input takes shows no heads
        return []
    result = []
    for name, node in layers:
        rows = unit_rows(name, named[name], layout)
        if rows is not None:
            result.append(_followed(_Layer(name, rows), node, interpreter.env, named))
    spaces = [space for left in result for right in result for space in _products(left, right)]
    return spaces + [s for v in result if v.name not in known for s in _values(v, named, layout)]


def _followed(
    layer: _Layer, start: fx.Node, values: dict[fx.Node, Any], named: dict[str, nn.Module]
) -> _Layer:
    layer.labels[start] = torch.arange(values[start].numel()).reshape(values[start].shape)
    for node in start.graph.nodes:
        marked = [argument for argument in node.all_input_nodes if argument in layer.labels]
        if not marked:
            continue
        module = named.get(str(node.target)) if node.op == "call_module" else None
        name = str(getattr(node.target, "__name__", node.target))
        if _turns(node) or (module is None and name in MOVES):
            layer.labels[node] = _run(node, {**values, **layer.labels})
        elif type(module) in STAYS or times_a_number(node):
            layer.labels[node] = layer.labels[marked[0]]
        elif not looks_at_shape(node):
            _met(layer, node, marked, values)
    return layer


def _run(node: fx.Node, values: dict[fx.Node, Any]) -> Any:
    args: Any = fx.node.map_arg(node.args, values.__getitem__)
    kwargs: Any = fx.node.map_arg(node.kwargs, values.__getitem__)
    function: Any = getattr(args[0], node.target) if isinstance(node.target, str) else node.target
    return function(*(args[1:] if isinstance(node.target, str) else args), **kwargs)


def _turns(node: fx.Node) -> bool:
    return node.target is getattr and node.args[1] in ("mT", "T")


def looks_at_shape(node: fx.Node) -> bool:
    """Whether a node asks for the shape of what it is given, or another fact that is no number of it."""
    return node.target in ("size", "dim") or (node.target is getattr and not _turns(node))


def times_a_number(node: fx.Node) -> bool:
    """Whether a node multiplies what it is given by a number, or divides it by one."""
    numbers = [isinstance(argument, int | float) for argument in node.args]
    if node.target in (operator.truediv, torch.div, "div"):
        return numbers == [False, True]
    return node.target in (operator.mul, torch.mul, "mul") and sum(numbers) == 1


def _met(layer: _Layer, node: fx.Node, marked: list[fx.Node], values: dict[fx.Node, Any]) -> None:
    """What a node that is no move does with the units: sum over them, carry them along, or something else."""
    for argument in marked:
        labels = layer.labels[argument]
        role = _role(layer, node, argument) if isinstance(labels, Tensor) else ""
        if role == "value":
            layer.values.append(_rows(layer.units(labels), -2))
            layer.labels[node] = labels[..., :1, :].expand(values[node].shape).contiguous()
            continue
        layer.ends.append((node, argument))
        if role in ("left", "right"):
            axis = -1 if role == "right" and is_matmul(node) else -2
            layer.products[node, role] = _rows(layer.units(labels), axis)


def _role(layer: _Layer, node: fx.Node, argument: fx.Node) -> str:
    """Of units in a product: "left" and "right" are summed over, a "value" is carried along."""
    labels = layer.labels[argument]
    if node.target is functional.scaled_dot_product_attention:
        given = dict(zip(("query", "key", "value"), node.args, strict=False)) | node.kwargs
        roles = [name for name, value in given.items() if value is argument]
        return {"query": "left", "key": "right"}.get(roles[0], roles[0]) if len(roles) == 1 else ""
    if not is_matmul(node) or len(node.args) != 2 or node.args[0] is node.args[1] or labels.ndim < 2:
        return ""
    if argument is node.args[0]:
        return "left"
    units, points = layer.units(labels), labels // len(layer.rows)
    turned = bool((units != units[..., :1, :]).any() or (points != points[..., :1]).any())
    return "right" if turned else "value"  # turned: units along the columns, as in k^T


def is_matmul(node: fx.Node) -> bool:
    """Whether a node multiplies two matrices."""
    return node.target in (operator.matmul, torch.matmul, torch.bmm, "matmul", "bmm")


def _rows(labels: Tensor, axis: int) -> Tensor:
    """The units along the other of the last two axes, for every head (and sample, which repeat)."""
    rows = labels.select(axis, 0)
    return rows.reshape(-1, rows.shape[-1])


def _products(left: _Layer, right: _Layer) -> Iterator[HiddenSpace]:
    for (node, role), rows in left.products.items():
        others = right.products.get((node, "right")) if role == "left" else None
        if others is None or others.shape != rows.shape:
            continue
        pairs = torch.unique(torch.cat([rows, others], 1), dim=0)
        queries, keys = pairs.chunk(2, 1)
        apart = left is not right or len(torch.unique(pairs)) == pairs.numel()
        if not (left.once(queries) and right.once(keys) and apart):
            continue
        for head, (query, key) in enumerate(zip(queries, keys, strict=True)):
            sides = (
                HiddenSide(f"{left.name}.weight", left.rows[query], False),
                HiddenSide(f"{right.name}.weight", right.rows[key], True),
            )
            where = f", head {head}" if len(pairs) > 1 else ""
            yield HiddenSpace(
                f"products of {left.name} and {right.name}{where}", sides, ActivationKind.LINEAR
            )


def _values(layer: _Layer, named: dict[str, nn.Module], layout: ParameterLayout) -> Iterator[HiddenSpace]:
    for rows in layer.values:
        heads = torch.unique(rows, dim=0)
        result = _reader(layer, heads, named, layout) if layer.once(heads) else None
        if result is None:
            continue
        reader, columns = result
        bias, after = f"{layer.name}.bias", f"{reader}.bias"
        for head, (group, read) in enumerate(zip(heads, columns, strict=True)):
            sides = (
                HiddenSide(f"{layer.name}.weight", layer.rows[group], False),
                HiddenSide(f"{reader}.weight", read, True),
            )
            shifts: tuple[tuple[Tensor, Tensor | None], ...] = ()
            if bias in layout.names and after in layout.names:
                shifts = ((layout.indices(bias)[group, None], None), (read, layout.indices(after)))
            where = f", head {head}" if len(heads) > 1 else ""
            title = f"values between {layer.name} and {reader}{where}"
            yield HiddenSpace(title, sides, ActivationKind.LINEAR, shifts)


def _reader(
    layer: _Layer, heads: Tensor, named: dict[str, nn.Module], layout: ParameterLayout
) -> tuple[str, Tensor] | None:
    """The linear layer that reads the values of all heads and nothing else, and its weights by unit."""
    for node, argument in layer.ends:
        name = str(node.target)
        reads = node.op == "call_module" and isinstance(named[name], nn.Linear)
        if not reads or f"{name}.weight" not in layout.names:
            continue
        labels = layer.units(layer.labels[argument])
        columns = torch.unique(labels.reshape(-1, labels.shape[-1]), dim=0)
        if len(columns) == 1 and torch.equal(columns[0].sort().values, heads.reshape(-1).sort().values):
            column = torch.empty(len(layer.rows), dtype=torch.int64)
            column[columns[0]] = torch.arange(columns.shape[1])
            return name, layout.indices(f"{name}.weight").T[column[heads]]
    return None
