"""Where a symmetry is broken: the equivariance error of each layer by itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Shaped
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from symscope.data import Action, same_action

WHOLE = "whole network"
WITHOUT_ERROR = (nn.Flatten, nn.Identity, nn.Dropout)  # nothing to be equivariant
EXACT = 1e-9  # `|g^-1 (g x) - x| / |x|` below which an element counts as exact on the grid

Mover = Callable[[int, Tensor], Tensor]


@final
@dataclass(frozen=True, eq=False)
class LayerCall:
    """One call of a layer: what it was given, and what it returned.

    Attributes:
        name: Name of the layer in the network.
        part: The layer.
        given: Its input.
        output: Its output.
        maps: Shape `[channels, *positions]` of maps that were flattened into its input; None for others.
    """

    name: str
    part: nn.Module
    given: Tensor
    output: Tensor
    maps: tuple[int, ...] | None = None


def layer_errors(
    module: nn.Module,
    inputs: Callable[[Tensor], Tensor],
    action: Action,
    elements: Sequence[int],
    x: Shaped[Tensor, "m *s"],
    target: Action | None = None,
) -> tuple[dict[str, float], dict[str, tuple[str, str]]]:
    """For the whole network, which comes first, and each layer, the mean error, and its class and target.

    Args:
        module: The network.
        inputs: Samples as the network takes them.
        action: Group action on the samples.
        elements: Elements to take the mean over.
        x: Samples.
        target: Group action on rows of outputs; None where they should not change. With it nothing is known
            of rows inside the network.

    Returns:
        `|L(g a) - g L(a)| / |L(a)|`, mean over elements, for each layer whose output the group moves in a
        known way, a being what the layer is given for the samples; and the class of every layer with
        "equivariant", "invariant", or "" where nothing is known.
    """
    if not elements:
        return {}, {}
    start = inputs(x)
    calls = layer_calls(module, start)
    listed = {WHOLE: LayerCall(WHOLE, module, start, module(start))}
    for one in calls:
        listed.setdefault(one.name, one)
    kinds: dict[str, tuple[str, str]] = {}
    totals: dict[str, float] = {}
    for name, call in listed.items():
        after, word = output_mover(call, action, x)
        before = input_mover(call, listed.values(), inputs, start, action, x)
        if target is not None:
            after, word = _with_target(after, word, call, listed[WHOLE].output, target)
            before = None if _plain_rows(call, start) else before
        if after is None or before is None:
            kinds[name] = (type(call.part).__name__, "")
            continue
        kinds[name] = (type(call.part).__name__, word)
        size = float(call.output.norm())
        apart = [  # a copy: the layer may work in place
            float((call.part(before(g).clone()) - after(g, call.output)).norm()) for g in elements
        ]
        totals[name] = sum(apart) / len(apart) / size if size > 0 else 0.0
    return totals, kinds


def _with_target(
    after: Mover | None, word: str, call: LayerCall, outputs: Tensor, target: Action
) -> tuple[Mover | None, str]:
    """How a layer's output should change where outputs of the network do: unknown for rows before them."""
    if call.output.numel() == outputs.numel() and torch.equal(call.output.flatten(1), outputs.flatten(1)):
        return (lambda g, a: target.act(g, a.flatten(1)).reshape(a.shape)), "equivariant"
    return (None, "") if word == "invariant" else (after, word)


def _plain_rows(call: LayerCall, start: Tensor) -> bool:
    """Whether a layer is given rows that are neither the inputs nor maps that were flattened."""
    given = call.given
    inputs = given.numel() == start.numel() and torch.equal(given.flatten(), start.flatten())
    return given.ndim == 2 and call.maps is None and not inputs


def layer_calls(module: nn.Module, inputs: Tensor) -> list[LayerCall]:
    """Every call, in its order, of a part without parts of its own that takes one tensor and returns one."""
    result: list[LayerCall] = []
    given: dict[str, Tensor] = {}
    maps = _Maps(inputs)
    hooks = []

    def before(name: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(part: nn.Module, arguments: Any, options: Any) -> None:
            given.pop(name, None)
            if len(arguments) == 1 and isinstance(arguments[0], Tensor) and not options:
                given[name] = arguments[0].detach().clone()

        return hook

    def after(name: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(part: nn.Module, arguments: Any, out: Any) -> None:
            if name in given and isinstance(out, Tensor) and out.ndim >= 2:
                shape = _flattened_maps(given[name], maps.made, result)
                result.append(LayerCall(name, part, given[name], out.detach().clone(), shape))

        return hook

    for name, part in leaves(module):
        hooks.append(part.register_forward_pre_hook(before(name), with_kwargs=True))
        hooks.append(part.register_forward_hook(after(name)))
    try:
        with maps:
            module(inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return result


@final
class _Maps(TorchFunctionMode):
    """Remembers every tensor with positions that a forward pass makes, by layers or by functions.

    A forward that pools and flattens with functions gives its linear layer rows that no layer returned.
    """

    def __init__(self, inputs: Tensor) -> None:
        super().__init__()
        self.made = [inputs]

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if isinstance(result, Tensor) and result.ndim > 2:
            self.made.append(result.detach())
        return result


def leaves(module: nn.Module) -> list[tuple[str, nn.Module]]:
    """Parts without parts of their own, but for those that cannot break a symmetry."""
    return [
        (name, part)
        for name, part in module.named_modules()
        if name and next(part.children(), None) is None and not isinstance(part, WITHOUT_ERROR)
    ]


def _flattened_maps(
    given: Tensor, before: Sequence[Tensor], calls: Sequence[LayerCall]
) -> tuple[int, ...] | None:
    """Shape of the maps that were flattened into rows, if they were made on the way or are the inputs."""
    if given.ndim != 2:
        return None
    for out in reversed(before):
        if out.ndim > 2 and out.flatten(1).shape == given.shape and torch.equal(out.flatten(1), given):
            return tuple(out.shape[1:])
    for one in reversed(calls):  # a layer that left flattened maps as they were arranged
        if one.maps is not None and _keeps_positions(one) and torch.equal(one.output, given):
            return one.maps
    return None


def _keeps_positions(call: LayerCall) -> bool:
    """Whether a layer on flattened maps gives maps again: anything but a linear layer, of the same shape."""
    return call.output.shape == call.given.shape and not isinstance(call.part, (nn.Linear, nn.Bilinear))


def input_mover(
    call: LayerCall,
    calls: Any,
    inputs: Callable[[Tensor], Tensor],
    start: Tensor,
    action: Action,
    x: Shaped[Tensor, "m *s"],
) -> Callable[[int], Tensor] | None:
    """What a layer is given, moved by an element; maps that were flattened, as the maps they were."""
    given = call.given
    if given.numel() == start.numel() and torch.equal(given.flatten(), start.flatten()):
        return lambda g: inputs(action.act(g, x)).reshape(given.shape)
    value = given if call.maps is None else given.reshape(len(given), *call.maps)
    mover = map_mover(value, action, x)[0]
    return None if mover is None else lambda g: mover(g, value).reshape(given.shape)


def output_mover(call: LayerCall, action: Action, x: Shaped[Tensor, "m *s"]) -> tuple[Mover | None, str]:
    """How the group should act on a layer's output, in a function of an element, and in a word."""
    if call.maps is not None and _keeps_positions(call):
        maps = call.maps
        mover, word = map_mover(call.output.reshape(len(call.output), *maps), action, x)
        if mover is None:
            return None, ""
        return (lambda g, a: mover(g, a.reshape(len(a), *maps)).reshape(a.shape)), word
    return map_mover(call.output, action, x)


def map_mover(value: Tensor, action: Action, x: Shaped[Tensor, "m *s"]) -> tuple[Mover | None, str]:
    """How the group should act on rows, maps, tokens or series of features, in a function and in a word."""
    if value.ndim == 2 or (value.ndim == 4 and value.shape[-2:] == (1, 1)):
        return (lambda g, a: a), "invariant"
    if action.sample_ndim != 2:
        return None, ""
    shape = tuple(x.shape[1:])
    if value.ndim == 3 and shape[-2] == 1:  # series of features, moved along their last axis
        series = same_action(action, shape, tuple(value.shape[1:]))
        return (None, "") if series is None else (series.act, "equivariant")
    if value.ndim == 3:
        return _token_mover(value, action, shape)
    if value.ndim == 4:
        maps = same_action(action, shape, (value.shape[2], value.shape[3]))
        return (None, "") if maps is None else (maps.act, "equivariant")
    return None, ""


def _token_mover(value: Tensor, action: Action, shape: tuple[int, ...]) -> tuple[Mover | None, str]:
    """Tokens of a transformer on a square grid, with or without one before them that stands for all."""
    count = value.shape[1]
    first = 0 if math.isqrt(count) ** 2 == count else 1
    side = math.isqrt(count - first)
    acting = same_action(action, shape, (side, side)) if side * side == count - first and side else None
    if acting is None:
        return None, ""

    def tokens(g: int, a: Tensor) -> Tensor:
        grid = a[:, first:].transpose(1, 2).unflatten(2, (side, side))
        return torch.cat([a[:, :first], acting.act(g, grid).flatten(2).transpose(1, 2)], 1)

    return tokens, "equivariant"


def exact_elements(
    action: Action, x: Shaped[Tensor, "m *s"], elements: Sequence[int] | None = None
) -> tuple[int, ...]:
    """The elements that move samples exactly, `g^-1 (g x) = x` to rounding: quarter turns among rotations."""
    chosen = action.group.elements if elements is None else elements
    size = float(x.double().norm())
    result = []
    for g in chosen:
        back = action.act(action.group.inverse(g), action.act(g, x))
        if float((back - x).double().norm()) <= EXACT * size:
            result.append(g)
    return tuple(result)
