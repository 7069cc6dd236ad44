"""Where the symmetry is broken: equivariance errors layer by layer, and cautions in words."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from symscope.data import Action, parse_action, rotation
from symscope.errors import InputError
from symscope.forecasting._question import Question
from symscope.forecasting._resample import standardise_points
from symscope.forecasting._short_repr import short_repr
from symscope.linear import asymmetry_loss
from symscope.networks import UserModel, arrange_inputs

MEASURED_SAMPLES = 6  # samples that errors are measured on
WHOLE = "whole network"
WITHOUT_ERROR = (nn.Flatten, nn.Identity, nn.Dropout)  # nothing to be equivariant
MEASURED_ELEMENTS = 12  # elements that errors are measured with; larger groups are thinned out
EXACT = 1e-9  # `|g^-1 (g x) - x| / |x|` below which an element counts as exact on the grid
INVARIANT = 1e-3  # asymmetry of outputs, relative to their norm, below which they count as invariant
OTHER_WEIGHTS = 0.1  # standard deviation of what is added to weights to see whether invariance is theirs
SAME = 1e-7  # relative distance of images that are the same


@final
@dataclass(frozen=True)
class LayerError:
    """How far one layer L is from equivariance by itself, `|L(g a) - g L(a)| / |L(a)|`, mean over elements.

    a is what the layer is given for the samples and g a is that, moved: what earlier layers break is not
    counted again.

    Attributes:
        layer: Name of the layer in the network.
        kind: Class of the layer.
        target: "equivariant" where the group also moves the output's positions, "invariant" where the output
            has none and should not change.
        model: Error over elements that act exactly (the control): the network's own part.
        discretisation: Error that the other elements add, by interpolation on the pixel grid. NaN if all
            elements are exact.
    """

    layer: str
    kind: str
    target: str
    model: float
    discretisation: float


@final
@dataclass(frozen=True)
class Equivariance:
    """How equivariant one network is.

    Attributes:
        asymmetry: `mean_x |f(x) - mean_g f(g x)|` of the outputs, over the mean norm of the outputs.
        layers: Error of every layer by itself.
        whole: Error of the whole network, `|f(g x) - f(x)| / |f(x)|`; what breaks the symmetry between
            layers, such as positions that are added to tokens, shows here alone.
        control: The exact elements that the model's part is measured with.
        skipped: Layers whose outputs the group does not act on in a known way.
    """

    asymmetry: float
    layers: tuple[LayerError, ...]
    whole: LayerError
    control: str
    skipped: tuple[str, ...]

    __repr__ = short_repr


def equivariance(
    module: nn.Module, model: UserModel, question: Question, images: Float[Tensor, "m *s"]
) -> Equivariance:
    """The asymmetry of a network's outputs and the equivariance error of each of its layers.

    Args:
        module: The network, in float64.
        model: Layout of its inputs.
        question: Action on the samples.
        images: Samples before standardisation; the first few are used.
    """
    x = images[:MEASURED_SAMPLES].double().cpu()
    module = module.to("cpu", torch.float64).eval()

    def inputs(samples: Tensor) -> Tensor:
        points = standardise_points(samples[None], question.standardised, question.data.name)[0]
        return arrange_inputs(points, model.layout)

    with torch.no_grad():
        size = float(module(inputs(x)).norm(dim=1).mean())
        loss = float(asymmetry_loss(lambda samples: module(inputs(samples)), x, question.action))
        elements = _measured_elements(question.action)
        exact = [g for g in elements if _is_exact(question.action, g, x)]
        rough = [g for g in elements if g not in exact]
        totals, kinds = _errors(module, inputs, question, question.action, exact, x)
        control = f"{len(exact)} elements of {question.group.name} that act exactly"
        if not exact:
            quarter = rotation(4) if question.family and x.shape[-1] == x.shape[-2] else None
            if quarter is not None:
                totals, kinds = _errors(module, inputs, question, quarter, [1, 2, 3], x)
                control = "quarter turns of the same images"
            else:
                control = "no element: none is exact on this grid"
        rough_totals, rough_kinds = _errors(module, inputs, question, question.action, rough, x)
    kinds = {**rough_kinds, **kinds}
    rows = [
        _row(name, *kinds[name], totals.get(name), rough_totals.get(name)) for name in kinds if kinds[name][1]
    ]
    skipped = tuple(name for name in kinds if not kinds[name][1])
    return Equivariance(loss / max(size, 1e-300), tuple(rows[1:]), rows[0], control, skipped)


def is_invariant(
    module: nn.Module, model: UserModel, question: Question, images: Float[Tensor, "m *s"]
) -> bool:
    """Whether a network's outputs are invariant by its architecture: with other weights than its own too.

    Args:
        module: The network, which is left as it is.
        model: Layout of its inputs.
        question: Action on the samples.
        images: Samples before standardisation; the first two are used.

    >>> from symscope.data import mnist_sample
    >>> from symscope.forecasting._question import as_question
    >>> from symscope.networks import user_model
    >>> question = as_question(mnist_sample(), "C4 shift-x")
    >>> whole = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
    >>> mean = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1, 10))
    >>> pairs = [(net, user_model(net, (28, 28), 10)) for net in (whole, mean)]
    >>> [is_invariant(net, model, question, question.data.x[:2]) for net, model in pairs]
    [False, True]
    """
    other = copy.deepcopy(module).to("cpu", torch.float64).eval()
    generator = torch.Generator().manual_seed(0)
    x = images[:2].double().cpu()

    def outputs(samples: Tensor) -> Tensor:
        points = standardise_points(samples[None], question.standardised, question.data.name)[0]
        result: Tensor = other(arrange_inputs(points, model.layout))
        return result

    with torch.no_grad():
        for weights in other.parameters():  # zeros in a last layer would hide what it is given
            noise = torch.randn(weights.shape, generator=generator, dtype=weights.dtype)
            weights.add_(noise, alpha=OTHER_WEIGHTS)
        size = float(outputs(x).norm(dim=1).mean())
        return float(asymmetry_loss(outputs, x, question.action)) < INVARIANT * size


def _row(layer: str, kind: str, target: str, exact: float | None, rough: float | None) -> LayerError:
    model = float("nan") if exact is None else exact
    if rough is None:
        return LayerError(layer, kind, target, model, float("nan"))
    return LayerError(layer, kind, target, model, rough if exact is None else max(0.0, rough - exact))


def _measured_elements(action: Action) -> list[int]:
    others = [g for g in action.group.elements if g != action.group.identity]
    step = -(-len(others) // MEASURED_ELEMENTS)
    return others[::step] if step > 1 else others


def _is_exact(action: Action, g: int, x: Tensor) -> bool:
    back = action.act(action.group.inverse(g), action.act(g, x))
    return float((back - x).norm()) <= EXACT * float(x.norm())


def _errors(
    module: nn.Module,
    inputs: Callable[[Tensor], Tensor],
    question: Question,
    action: Action,
    elements: list[int],
    x: Tensor,
) -> tuple[dict[str, float], dict[str, tuple[str, str]]]:
    """For the whole network, which comes first, and each layer, the mean error, and its class and target."""
    if not elements:
        return {}, {}
    start = inputs(x)
    calls = {WHOLE: _Call(module, start, module(start)), **_calls(module, start)}

    def moved_input(call: _Call) -> Callable[[int], Tensor] | None:
        """What a layer is given, moved by an element; maps that were flattened, as the maps they were."""
        given = call.given
        if given.numel() == start.numel() and torch.equal(given.flatten(), start.flatten()):
            return lambda g: inputs(action.act(g, x)).reshape(given.shape)
        maps = (one.output for one in calls.values() if one.output.flatten(1).shape == given.shape)
        value = next((out for out in maps if torch.equal(out.flatten(1), given)), given)
        mover = _mover(value, question, action, x)[0]
        return None if mover is None else lambda g: mover(g, value).reshape(given.shape)

    kinds: dict[str, tuple[str, str]] = {}
    totals: dict[str, float] = {}
    for name, call in calls.items():
        after, target = _mover(call.output, question, action, x)
        given = moved_input(call)
        if after is None or given is None:
            kinds[name] = (type(call.part).__name__, "")
            continue
        kinds[name] = (type(call.part).__name__, target)
        size = float(call.output.norm())
        apart = [  # a copy: the layer may work in place
            float((call.part(given(g).clone()) - after(g, call.output)).norm()) for g in elements
        ]
        totals[name] = sum(apart) / len(apart) / size if size > 0 else 0.0
    return totals, kinds


@final
@dataclass(frozen=True)
class _Call:
    """One call of a layer: what it was given, and what it returned."""

    part: nn.Module
    given: Tensor
    output: Tensor


def _calls(module: nn.Module, x: Tensor) -> dict[str, _Call]:
    """The first call of every part without parts of its own that takes one tensor and returns one."""
    result: dict[str, _Call] = {}
    given: dict[str, Tensor] = {}
    hooks = []

    def before(name: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(part: nn.Module, arguments: Any, options: Any) -> None:
            if len(arguments) == 1 and isinstance(arguments[0], Tensor) and not options:
                given.setdefault(name, arguments[0].detach().clone())

        return hook

    def after(name: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(part: nn.Module, arguments: Any, out: Any) -> None:
            if name in given and name not in result and isinstance(out, Tensor) and out.ndim >= 2:
                result[name] = _Call(part, given[name], out.detach().clone())

        return hook

    for name, part in module.named_modules():
        if name and next(part.children(), None) is None and not isinstance(part, WITHOUT_ERROR):
            hooks.append(part.register_forward_pre_hook(before(name), with_kwargs=True))
            hooks.append(part.register_forward_hook(after(name)))
    try:
        module(x)
    finally:
        for hook in hooks:
            hook.remove()
    return result


def _mover(
    value: Tensor, question: Question, action: Action, x: Tensor
) -> tuple[Callable[[int, Tensor], Tensor] | None, str]:
    """How the group should act on a layer's output, in a function of an element, and in a word."""
    if value.ndim == 2 or (value.ndim == 4 and value.shape[-2:] == (1, 1)):
        return (lambda g, a: a), "invariant"
    if value.ndim == 3 and action.sample_ndim == 2:  # tokens of a transformer, on a grid
        side = math.isqrt(value.shape[1])
        if side * side != value.shape[1]:
            return None, ""
        acting = _acting(question, action, (side, side), x)
        if acting is None:
            return None, ""

        def tokens(g: int, a: Tensor) -> Tensor:
            grid = a.transpose(1, 2).unflatten(2, (side, side))
            return acting.act(g, grid).flatten(2).transpose(1, 2)

        return tokens, "equivariant"
    if value.ndim == 4 and action.sample_ndim == 2:
        maps = _acting(question, action, (value.shape[2], value.shape[3]), x)
        return (None, "") if maps is None else (maps.act, "equivariant")
    return None, ""


def _acting(question: Question, action: Action, shape: tuple[int, int], x: Tensor) -> Action | None:
    """The same action on maps of another size, if there is one."""
    if shape == tuple(x.shape[-2:]):
        return action
    try:
        return parse_action(action.name, action.group, shape)
    except InputError:  # a user's own action, or shifts by less than a pixel
        return None


def exact_elements(question: Question, x: Float[Tensor, "m *s"]) -> tuple[int, ...]:
    """The subgroup of elements that move the given images exactly: quarter turns among rotations."""
    group = question.group
    result = []
    for g in group.elements:
        back = question.action.act(group.inverse(g), question.action.act(g, x))
        if float((back - x).norm()) <= SAME * float(x.norm()):
            result.append(g)
    members = set(result)
    closed = all(group.multiply(a, b) in members for a in result for b in result)
    return tuple(result) if closed else (group.identity,)
