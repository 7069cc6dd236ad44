"""From an `nn.Module` to a graph of operations: traced with torch.fx, one rule per module or function."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

import torch
from torch import Tensor, fx, nn

from symscope.kernels.activations import ChannelNorm, function_dual, is_activation, module_dual
from symscope.kernels.infinite._operations import (
    Activate,
    Affine,
    Input,
    Node,
    Operation,
    Scale,
    Sum,
    UnsupportedLayer,
)
from symscope.kernels.infinite._parameterisation import Prior, check_prior, layer_weights
from symscope.kernels.infinite._translation import (
    WEIGHTED,
    functional_operation,
    module_operations,
    norm_function,
    reason_against,
)
from symscope.kernels.infinite._wide_network import WideNetwork
from symscope.networks import UntraceableModule, eval_mode, trace_module

# Axes of positions, by the permutation that puts the channels behind them, and back.
CHANNELS_LAST = {(0, 2, 1): 1, (0, 2, 3, 1): 2, (0, 2, 3, 4, 1): 3}
CHANNELS_FIRST = {(0, 2, 1): 1, (0, 3, 1, 2): 2, (0, 4, 1, 2, 3): 3}
_SUMS = (operator.add, operator.iadd, torch.add, "add", "add_")
_DIFFERENCES = (operator.sub, operator.isub, torch.sub, "sub", "sub_")
_PRODUCTS = (operator.mul, operator.imul, torch.mul, "mul", "mul_", operator.neg)
_QUOTIENTS = (operator.truediv, operator.itruediv, torch.div, "div", "div_")


def _traced(module: nn.Module) -> tuple[fx.Graph, nn.Module]:
    """The torch.fx graph of a module and the root its names refer to.

    Raises:
        UnsupportedLayer: The control flow depends on the data, or tracing fails for another reason.
    """
    root = nn.Sequential(module) if _is_layer(module) else module
    try:
        # gradients tell constants from what is computed from parameters
        with eval_mode(root), torch.enable_grad():
            return trace_module(root, _has_rule), root
    except UntraceableModule as error:
        raise UnsupportedLayer(error.layer, error.kind, error.reason) from error


def _has_rule(module: nn.Module) -> bool:
    return is_activation(module) or isinstance(module, ChannelNorm)


def _is_layer(module: nn.Module) -> bool:
    return _has_rule(module) or fx.Tracer().is_leaf_module(module, "")


def wide_network(module: nn.Module, prior: Prior, nodes: int) -> WideNetwork:
    """The wide network a module becomes.

    Args:
        module: Any module made of supported layers.
        prior: Parameterisation and scales.
        nodes: Grid points for activations without closed form.

    Raises:
        UnsupportedLayer: Names the layer that has no infinite-width form.
        InputError: The scales do not fit the module.
    """
    before = set(vars(module))
    graph, root = _traced(module)
    named = dict(root.named_modules())
    check_prior(prior, [name for name, m in named.items() if isinstance(m, WEIGHTED)])
    reader = _Reader(root, prior, nodes)
    try:
        for step in graph.nodes:
            reader.read(step)
    finally:
        for name in set(vars(module)) - before:  # constants that torch.fx has written there
            delattr(module, name)
    network = WideNetwork(reader.pruned(), type(module).__name__)
    assert network.laws  # raises where an operation has no rule
    return network


@final
@dataclass
class _Reader:
    """Reads a torch.fx graph node by node; `found` maps its nodes to ours, and sizes to None."""

    root: nn.Module
    prior: Prior
    quadrature: int
    nodes: list[Node] = field(default_factory=list)
    found: dict[fx.Node, int | None] = field(default_factory=dict)
    constants: dict[fx.Node, Tensor] = field(default_factory=dict)
    last: dict[fx.Node, int] = field(default_factory=dict)  # axes of positions, if channels come last
    used: dict[int, str] = field(default_factory=dict)
    output: int = -1

    def read(self, step: fx.Node) -> None:
        if step.op == "placeholder":
            if self.nodes:
                raise UnsupportedLayer(step.name, "input", "the network must have one input")
            self._add(step, [Input()], [], step.name)
        elif step.op == "call_module":
            self._module(step)
        elif step.op in ("call_function", "call_method"):
            self._function(step)
        elif step.op == "output":
            result = step.args[0]
            if not isinstance(result, fx.Node) or self.found.get(result) is None:
                raise UnsupportedLayer("output", "output", "the network must return one tensor")
            if self.last.get(result):
                raise UnsupportedLayer("output", "permute", "the output has its channels on the last axis")
            self.output = self._index(result)
        else:
            self._constant(step)

    def pruned(self) -> tuple[Node, ...]:
        """The nodes the output depends on, in order."""
        keep = {0, self.output}
        for index in reversed(range(len(self.nodes))):
            if index in keep:
                keep.update(self.nodes[index].inputs)
        order = {old: new for new, old in enumerate(sorted(keep))}
        return tuple(
            Node(node.operation, tuple(order[i] for i in node.inputs), node.name)
            for old, node in enumerate(self.nodes)
            if old in keep
        )

    def _constant(self, step: fx.Node) -> None:
        """Keep a buffer, or a tensor computed from buffers."""
        name = str(step.target)
        value = operator.attrgetter(name)(self.root)
        if not isinstance(value, Tensor) or value.requires_grad:
            raise UnsupportedLayer(name, step.op, "a parameter is used outside of a known layer")
        self.constants[step], self.found[step] = value.detach().double(), None

    def _index(self, step: fx.Node) -> int:
        index = self.found[step]
        if index is None:
            raise UnsupportedLayer(_name(step), str(step.target), "a size is used as a tensor")
        return index

    def _add(self, step: fx.Node, operations: Sequence[Operation], inputs: list[int], name: str) -> None:
        """Append a chain of operations; an empty one is the identity."""
        for operation in operations:
            self.nodes.append(Node(operation, tuple(inputs), name))
            inputs = [len(self.nodes) - 1]
        self.found[step] = inputs[0]

    def _module(self, step: fx.Node) -> None:
        name = str(step.target)
        module = self.root.get_submodule(name)
        kind = type(module).__name__
        given = step.args[0] if step.args else next(iter(step.kwargs.values()), None)
        if not isinstance(given, fx.Node) or len(step.args) + len(step.kwargs) != 1:
            raise UnsupportedLayer(name, kind, reason_against(module) or "it must be given one tensor")
        last = self.last.get(given, 0)
        self.last[step] = last
        if is_activation(module):
            operations: list[Operation] = [Activate(module_dual(module, self.quadrature))]
        elif isinstance(module, WEIGHTED):
            if id(module) in self.used:
                raise UnsupportedLayer(
                    name, kind, "its weights are used twice, so its outputs are correlated"
                )
            self.used[id(module)] = name
            if "weight" not in module._parameters:
                reason = "its weight is computed (spectral_norm, weight_norm, pruning): it has another scale"
                raise UnsupportedLayer(name, kind, reason)
            weights = layer_weights(module, name, self.prior)
            operations = module_operations(module, name, weights, last)
        else:
            operations = module_operations(module, name, None, last)
        if (
            last
            and operations
            and not isinstance(module, nn.Linear | nn.LayerNorm | nn.RMSNorm)
            and not is_activation(module)
        ):
            raise UnsupportedLayer(name, kind, "its input has the channels on the last axis")
        self._add(step, operations, [self._index(given)], name)

    def _function(self, step: fx.Node) -> None:
        target, name = step.target, _name(step)
        if target in ("size", "dim", "ndimension") or target in (getattr, len, operator.getitem):
            self._number(step)
            return
        if not any(self.found.get(n) is not None for n in step.all_input_nodes):
            self.found[step] = None  # arithmetic of sizes
            return
        if target in (*_SUMS, *_DIFFERENCES):
            self._sum(step, name)
            return
        if target in (*_PRODUCTS, *_QUOTIENTS):
            self._scale(step, name)
            return
        given = step.args[0] if step.args else step.kwargs.get("input")
        if not isinstance(given, fx.Node):
            raise UnsupportedLayer(name, _label(step), "there is no rule for a function of several tensors")
        last = self.last.get(given, 0)
        if target in ("permute", torch.permute):
            self._permute(step, given, name)
            return
        self.last[step] = last
        dual = function_dual(target, step.args[1:], dict(step.kwargs), self.quadrature)
        if dual is not None:
            self._add(step, [Activate(dual)], [self._index(given)], name)
            return
        norm = norm_function(target, step.args[1:], dict(step.kwargs), name, last)
        if norm is not None:
            self._add(step, norm, [self._index(given)], name)
            return
        if last:
            raise UnsupportedLayer(name, _label(step), "its input has the channels on the last axis")
        operations = functional_operation(target, step.args[1:], dict(step.kwargs), name)
        if operations is None:
            raise UnsupportedLayer(name, _label(step), "there is no rule for this function")
        self._add(step, operations, [self._index(given)], name)

    def _number(self, step: fx.Node) -> None:
        """Sizes are allowed (for view and reshape); slices of tensors are not."""
        given = step.args[0]
        if (
            step.target is operator.getitem
            and isinstance(given, fx.Node)
            and self.found.get(given) is not None
        ):
            raise UnsupportedLayer(_name(step), "getitem", "a part of a tensor is taken")
        if step.target is getattr and step.args[1] not in ("shape", "ndim"):
            raise UnsupportedLayer(_name(step), str(step.args[1]), "there is no rule for this attribute")
        self.found[step] = None

    def _sum(self, step: fx.Node, name: str) -> None:
        if set(step.kwargs) - {"other", "input"}:
            raise UnsupportedLayer(name, _label(step), "only plain sums have a rule")
        terms = [*step.args, *step.kwargs.values()]
        numbers = [self._value(t) for t in terms]
        if any(number is not None for number in numbers):
            first, second = numbers
            sign = -1.0 if step.target in _DIFFERENCES else 1.0
            if second is not None:
                self._affine(step, terms[0], torch.ones(()), sign * second, name)
            elif first is not None:
                self._affine(step, terms[1], torch.tensor(sign), first, name)
            return
        if not all(isinstance(t, fx.Node) and self.found.get(t) is not None for t in terms):
            raise UnsupportedLayer(name, _label(step), "only plain sums have a rule")
        lasts = {self.last.get(t, 0) for t in terms if isinstance(t, fx.Node)}
        if len(lasts) > 1:
            raise UnsupportedLayer(name, _label(step), "the branches have their channels on different axes")
        self.last[step] = lasts.pop()
        inputs = [self._index(t) for t in terms if isinstance(t, fx.Node)]
        if step.target in _DIFFERENCES:
            self._add(step, [Scale(-1.0)], inputs[1:], name)
            inputs[1] = self._index(step)
        self._add(step, [Sum()], inputs, name)

    def _scale(self, step: fx.Node, name: str) -> None:
        tensors = [a for a in step.args if isinstance(a, fx.Node) and self.found.get(a) is not None]
        numbers = [value for a in step.args if (value := self._value(a)) is not None]
        divides = step.target in _QUOTIENTS
        if len(tensors) != 1 or step.kwargs or (divides and step.args[0] is not tensors[0]):
            raise UnsupportedLayer(name, _label(step), "only multiplication by a number has a rule")
        if len(numbers) + 1 != len(step.args):
            raise UnsupportedLayer(name, _label(step), "a size is used as a number")
        factor = numbers[0] if numbers else torch.tensor(-1.0)
        factor = 1 / factor if divides else factor
        if factor.numel() > 1:
            self._affine(step, tensors[0], factor, torch.zeros(()), name)
            return
        self.last[step] = self.last.get(tensors[0], 0)
        self._add(step, [Scale(float(factor))], [self._index(tensors[0])], name)

    def _value(self, term: object) -> Tensor | None:
        """The constant that a term of the graph is; None for tensors of the network and sizes."""
        if isinstance(term, fx.Node):
            return self.constants.get(term)
        return torch.tensor(float(term), dtype=torch.float64) if isinstance(term, int | float) else None

    def _affine(self, step: fx.Node, given: object, factor: Tensor, shift: Tensor, name: str) -> None:
        if not isinstance(given, fx.Node) or self.found.get(given) is None:
            raise UnsupportedLayer(name, _label(step), "a size is used as a tensor")
        if self.last.get(given):
            raise UnsupportedLayer(name, _label(step), "its input has the channels on the last axis")
        self._add(step, [Affine(factor, shift)], [self._index(given)], name)

    def _permute(self, step: fx.Node, given: fx.Node, name: str) -> None:
        sizes = step.args[1:] if isinstance(step.args[1], int) else step.args[1]
        order = tuple(n for n in sizes if isinstance(n, int)) if isinstance(sizes, Sequence) else ()
        last = self.last.get(given, 0)
        axes = (CHANNELS_FIRST if last else CHANNELS_LAST).get(order, 0)
        if axes and last in (0, axes):
            self.last[step] = 0 if last else axes
            self.found[step] = self._index(given)
            return
        raise UnsupportedLayer(name, _label(step), "only channels may be moved, to the last axis and back")


def _label(step: fx.Node) -> str:
    return step.target if isinstance(step.target, str) else getattr(step.target, "__name__", str(step.target))


def _name(step: fx.Node) -> str:
    """The qualified name of the module a function is called in, and the function."""
    stack = step.meta.get("nn_module_stack")
    inside = next(reversed(stack.values()))[0] if stack else ""
    return f"{inside}.{step.name}" if inside else step.name
