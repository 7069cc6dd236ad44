"""From a module to its hidden spaces: torch.fx follows the units of a layer to the layers that read them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import torch
from torch import Tensor, fx, nn
from torch.nn import functional

from symscope.discovery._parameter_layout import ParameterLayout
from symscope.discovery._parameter_problem import ParameterProblem
from symscope.discovery.known._attention_spaces import attention_spaces, unit_rows
from symscope.discovery.known._spaces import ActivationKind, HiddenSide, HiddenSpace
from symscope.discovery.known._written_heads import is_matmul, looks_at_shape, times_a_number, written_spaces
from symscope.networks import UntraceableModule, trace_module
from symscope.numerics import explained

WRITES = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.LayerNorm, nn.BatchNorm1d, nn.BatchNorm2d, nn.RMSNorm)
READS = (nn.Linear, nn.Conv1d, nn.Conv2d)
NORMALISES = (nn.LayerNorm, nn.RMSNorm)  # all units alike, if these are the units of a linear layer
PRODUCTS = (operator.mul, torch.mul, "mul")
ONE_NUMBER = (nn.LayerNorm, nn.BatchNorm1d, nn.BatchNorm2d, nn.RMSNorm)  # diagonal: one scale a unit

_MODULES: tuple[tuple[tuple[type[nn.Module], ...], ActivationKind], ...] = (
    (
        (nn.Identity, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Flatten),
        ActivationKind.LINEAR,
    ),
    (
        (nn.AvgPool1d, nn.AvgPool2d, nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d),
        ActivationKind.LINEAR,
    ),
    (
        (nn.ReLU, nn.LeakyReLU, nn.PReLU, nn.MaxPool1d, nn.MaxPool2d, nn.AdaptiveMaxPool2d),
        ActivationKind.HOMOGENEOUS,
    ),
    ((nn.Tanh, nn.Softsign, nn.Tanhshrink, nn.Hardtanh, nn.Softshrink, nn.Hardshrink), ActivationKind.ODD),
    (
        (nn.Sigmoid, nn.GELU, nn.SiLU, nn.ELU, nn.SELU, nn.Softplus, nn.Mish, nn.ReLU6, nn.CELU),
        ActivationKind.ELEMENTWISE,
    ),
    ((nn.LogSigmoid, nn.Hardsigmoid, nn.Hardswish, *NORMALISES), ActivationKind.ELEMENTWISE),
)
_FUNCTIONS: dict[Any, ActivationKind] = {
    **dict.fromkeys(
        ("flatten", "mean", "sum", "contiguous", torch.flatten, torch.mean, torch.sum, functional.dropout),
        ActivationKind.LINEAR,
    ),
    **dict.fromkeys((functional.avg_pool2d, functional.adaptive_avg_pool2d), ActivationKind.LINEAR),
    **dict.fromkeys(
        (functional.relu, torch.relu, "relu", functional.leaky_relu, functional.max_pool2d),
        ActivationKind.HOMOGENEOUS,
    ),
    **dict.fromkeys((functional.tanh, torch.tanh, "tanh", torch.sin, "sin", torch.erf), ActivationKind.ODD),
    **dict.fromkeys(
        (torch.sigmoid, functional.sigmoid, "sigmoid", functional.gelu, functional.silu, functional.softplus),
        ActivationKind.ELEMENTWISE,
    ),
    **dict.fromkeys((functional.elu, functional.selu, torch.exp, torch.cos), ActivationKind.ELEMENTWISE),
    **dict.fromkeys((torch.square, "square"), ActivationKind.ELEMENTWISE),
}


def traced_graph(module: nn.Module) -> fx.Graph | None:
    """The torch.fx graph of a module, None where its control flow depends on the data."""
    try:
        return trace_module(module)
    except UntraceableModule:
        return None


@final
@dataclass
class _UnitPath:
    """What lies on the way from the units of a layer to the layers that read them."""

    between: ActivationKind = ActivationKind.LINEAR
    readers: list[tuple[str, nn.Module]] = field(default_factory=list)
    carriers: list[str] = field(default_factory=list)  # layers whose numbers belong to the units one by one
    known: bool = True


def unfollowed_parameters(problem: ParameterProblem) -> list[str]:
    """Names of parameters that belong to no hidden space, so that their symmetries are not searched.

    >>> from torch import nn
    >>> from symscope.discovery import gaussian_data, parameter_problem
    >>> net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    >>> unfollowed_parameters(parameter_problem(net, "squared", gaussian_data((3,), (2,))))
    ['2.bias']
    """
    layout = problem.layout
    held = torch.zeros(layout.size, dtype=torch.bool)
    for space in hidden_spaces(problem):
        parts = [*(side.positions for side in space.sides), *space.carried]
        parts += [part for pair in space.shifts for part in pair if part is not None]
        for part in parts:
            held[part.flatten()] = True
    return [name for name in layout.names if not bool(held[layout.indices(name)].any())]


@explained
def hidden_spaces(problem: ParameterProblem) -> tuple[HiddenSpace, ...]:
    """The hidden spaces of a network whose units are read by linear layers only.

    Units that reach an output, a sum with another branch or an operation without a rule belong to none. A
    module that torch.fx cannot trace gives the spaces of its transformer layers only.

    Args:
        problem: Network and loss.

    Returns:
        The spaces, in the order of their layers.

    >>> from symscope.discovery import gaussian_data, parameter_problem
    >>> net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    >>> [space.name for space in hidden_spaces(parameter_problem(net, "squared", gaussian_data((3,), (2,))))]
    ['hidden units between 0 and 2']
    """
    module, layout = problem.network.module, problem.layout
    named = dict(module.named_modules())
    spaces = [s for name, m in named.items() for s in transformer_spaces(name, m, layout)]
    graph = traced_graph(module)
    if graph is None:
        return tuple(spaces)
    calls: dict[str, list[fx.Node]] = {}
    for node in graph.nodes:
        if node.op == "call_module":
            calls.setdefault(str(node.target), []).append(node)
    writers = [
        (name, nodes[0])
        for name, nodes in calls.items()
        if len(nodes) == 1 and isinstance(named[name], WRITES) and _own(named[name], module)
    ]
    followed = {name: _space(name, node, named, layout, calls) for name, node in writers}
    plain = {name: space for name, space in followed.items() if space is not None}
    linear = [(name, node) for name, node in writers if isinstance(named[name], nn.Linear)]
    return (*spaces, *written_spaces(problem, graph, linear, set(plain)), *plain.values())


def _own(module: nn.Module, root: nn.Module) -> bool:
    """Whether no other module uses the same parameters."""
    mine = {id(p) for p in module.parameters(recurse=False)}
    users = [m for m in root.modules() if mine & {id(p) for p in m.parameters(recurse=False)}]
    return users == [module]


def _space(
    name: str,
    node: fx.Node,
    named: dict[str, nn.Module],
    layout: ParameterLayout,
    calls: dict[str, list[fx.Node]],
) -> HiddenSpace | None:
    result = _UnitPath()
    for user in node.users:
        _follow(user, node, named, result)
    readers = dict(result.readers)
    reused = any(len(calls[n]) != 1 or not _own(m, named[""]) for n, m in readers.items())
    if not result.known or not readers or reused:
        return None
    writer = named[name]
    sides = [_writing_side(name, writer, layout), *(_reading_side(n, m, layout) for n, m in readers.items())]
    kept = [side for side in sides if side is not None]
    units = kept[0].positions.shape[0] if kept else 0
    if len(kept) != len(sides) or any(side.positions.shape[0] != units for side in kept):
        kept = _split_channels(kept, units) if len(kept) == len(sides) else []
    if not kept:
        return None
    carried = [_carried(n, named[n], units, layout) for n in result.carriers]
    alike = [positions for positions in carried if positions is not None]
    first = all(list(calls).index(name) < list(calls).index(n) for n in result.carriers)
    single = isinstance(writer, ONE_NUMBER)
    return HiddenSpace(
        f"hidden units between {name} and {' and '.join(readers)}",
        tuple(kept),
        result.between,
        _shifts(name, readers, kept, layout) if result.between is ActivationKind.LINEAR else (),
        mixes=not single,
        permutes=not single and first and len(alike) == len(carried),
        carried=tuple(alike),
    )


def _follow(node: fx.Node, source: fx.Node, named: dict[str, nn.Module], result: _UnitPath) -> None:
    """Follow the units through one operation."""
    if looks_at_shape(node):
        return
    module = named.get(str(node.target)) if node.op == "call_module" else None
    if isinstance(module, READS) and getattr(module, "groups", 1) == 1:
        result.readers.append((str(node.target), module))
        return
    kind = _kind(node, module, source)
    gate = _gate(node, source, named)
    if gate is not None:
        kind = ActivationKind.HOMOGENEOUS
        result.carriers.append(gate)
    if kind is None or node.op == "output":
        result.known = False
        return
    if module is not None and any(weight.numel() > 1 for weight in module.parameters()):
        result.carriers.append(str(node.target))
    result.between = _weaker(result.between, kind)
    for user in node.users:
        _follow(user, node, named, result)


def _gate(node: fx.Node, source: fx.Node, named: dict[str, nn.Module]) -> str | None:
    """The layer whose units, one by one, the units are multiplied with; None where there is none."""
    factors = [argument for argument in node.args if argument is not source]
    if node.target not in PRODUCTS or len(node.args) != 2 or len(factors) != 1:
        return None
    other = factors[0]
    while isinstance(other, fx.Node) and len(other.users) == 1:
        module = named.get(str(other.target)) if other.op == "call_module" else None
        if isinstance(module, READS):
            return str(other.target) if _own(module, named[""]) else None
        inputs = other.all_input_nodes
        if len(inputs) != 1 or isinstance(module, NORMALISES) or _kind(other, module, inputs[0]) is None:
            return None
        other = inputs[0]
    return None


def _kind(node: fx.Node, module: nn.Module | None, source: fx.Node) -> ActivationKind | None:
    if module is not None:
        # an activation set in place of another's class must not be taken for it: exact types only
        return next((between for kinds, between in _MODULES if type(module) in kinds), None)
    if node.op in ("call_function", "call_method"):
        if is_matmul(node) and len(node.args) == 2 and node.args[1] is source and node.args[0] is not source:
            return ActivationKind.LINEAR
        if node.target is functional.scaled_dot_product_attention and _values_of(node) is source:
            return ActivationKind.LINEAR if [*node.args, *node.kwargs.values()].count(source) == 1 else None
        if node.target in (*PRODUCTS, operator.truediv, operator.pow, "pow", torch.pow):
            return _arithmetic(node, source)
        return _FUNCTIONS.get(node.target)
    return None


def _arithmetic(node: fx.Node, source: fx.Node) -> ActivationKind | None:
    """Units times, over or to the power of a number, or of themselves."""
    if times_a_number(node):
        return ActivationKind.LINEAR
    if len(node.args) != 2 or node.args[0] is not source:
        return None
    alone = isinstance(node.args[1], int | float) or node.args[1] is source
    return ActivationKind.ELEMENTWISE if alone else None


def _values_of(node: fx.Node) -> Any:
    return node.args[2] if len(node.args) > 2 else node.kwargs.get("value")


def _weaker(a: ActivationKind, b: ActivationKind) -> ActivationKind:
    """What two operations in a row are: homogeneous and odd ones together are neither."""
    if a is ActivationKind.LINEAR or a is b:
        return b
    return a if b is ActivationKind.LINEAR else ActivationKind.ELEMENTWISE


def _writing_side(name: str, module: nn.Module, layout: ParameterLayout) -> HiddenSide | None:
    """None where groups, or a frozen weight or bias, pin the units."""
    rows = unit_rows(name, module, layout) if getattr(module, "groups", 1) == 1 else None
    return None if rows is None else HiddenSide(f"{name}.weight", rows, False)


def _carried(name: str, module: nn.Module, units: int, layout: ParameterLayout) -> Tensor | None:
    """Positions by unit of all numbers of a layer; None where some are frozen or of another size."""
    parts = [f"{name}.{part}" for part, _ in module.named_parameters(recurse=False)]
    if any(part not in layout.names or layout.indices(part).shape[0] != units for part in parts):
        return None
    return torch.cat([layout.indices(part).reshape(units, -1) for part in parts], 1)


def _reading_side(name: str, module: nn.Module, layout: ParameterLayout) -> HiddenSide | None:
    if f"{name}.weight" not in layout.names:
        return None
    columns = layout.indices(f"{name}.weight").transpose(0, 1)
    return HiddenSide(f"{name}.weight", columns.reshape(columns.shape[0], -1), True)


def _split_channels(sides: list[HiddenSide], units: int) -> list[HiddenSide]:
    """After a flatten, several neighbouring columns belong to one channel."""
    joined = []
    for side in sides:
        count = side.positions.shape[0]
        if count % units or (count != units and not side.transposed):
            return []
        joined.append(HiddenSide(side.parameter, side.positions.reshape(units, -1), side.transposed))
    return joined


def _shifts(
    name: str, readers: dict[str, nn.Module], sides: list[HiddenSide], layout: ParameterLayout
) -> tuple[tuple[Tensor, Tensor | None], ...]:
    """Biases before and after, where all layers have them and the layers after are fully connected."""
    linear = all(isinstance(m, nn.Linear) and f"{n}.bias" in layout.names for n, m in readers.items())
    if f"{name}.bias" not in layout.names or not linear:
        return ()
    before: tuple[Tensor, Tensor | None] = (layout.indices(f"{name}.bias")[:, None], None)
    after: list[tuple[Tensor, Tensor | None]] = []
    for side, (n, m) in zip(sides[1:], readers.items(), strict=True):
        biases = layout.indices(f"{n}.bias")
        if side.positions.shape[0] == m.in_features:
            after.append((side.positions, biases))
    return (before, *after) if len(after) == len(readers) else ()


def transformer_spaces(name: str, module: nn.Module, layout: ParameterLayout) -> list[HiddenSpace]:
    """Spaces of torch's own attention and transformer layers, which torch.fx does not look into."""
    if isinstance(module, nn.MultiheadAttention):
        return attention_spaces(name, module, layout)
    if isinstance(module, nn.TransformerEncoderLayer):
        activation: Callable[..., Any] | None = module.activation
        kind = _FUNCTIONS.get(activation, ActivationKind.ELEMENTWISE)
        first, second = f"{name}.linear1".lstrip("."), f"{name}.linear2".lstrip(".")
        sides = (
            _writing_side(first, module.linear1, layout),
            _reading_side(second, module.linear2, layout),
        )
        kept = tuple(side for side in sides if side is not None)
        return (
            [HiddenSpace(f"hidden units between {first} and {second}", kept, kind)] if len(kept) == 2 else []
        )
    return []
