"""How equivariant a network is, layer by layer: the model's own part, and what the pixel grid adds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from symscope.data import Action, parse_action, rotation
from symscope.errors import InputError
from symscope.forecasting._question import Problem, prepared
from symscope.linear import asymmetry_loss
from symscope.networks import UserModel, arrange_inputs

ITEMS = 6  # images it is measured on
SILENT = (nn.Flatten, nn.Identity, nn.Dropout)  # nothing to be equivariant
ELEMENTS = 12  # elements it is measured with; larger groups are thinned out
EXACT = 1e-9  # `|g^-1 (g x) - x| / |x|` below which an element counts as exact on the grid


@final
@dataclass(frozen=True)
class LayerError:
    """How far one layer is from equivariance, `|f(g x) - g f(x)| / |f(x)|`, mean over elements and items.

    Attributes:
        layer: Its name in the network.
        kind: Its class.
        target: "equivariant" where the group also moves the output's positions, "invariant" where the output
            has none and should not change.
        model: Over elements that move pixels exactly (the control): what the network itself does.
        discretisation: What the other elements add to that: interpolation on the pixel grid. NaN if all
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
    """Measurements of one network.

    Attributes:
        asymmetry: `mean_x |f(x) - mean_g f(g x)|` of the outputs, over the mean norm of the outputs.
        layers: The error of every layer.
        control: Which exact elements stand for the model's part.
        skipped: Layers whose outputs the group does not act on in a known way.
    """

    asymmetry: float
    layers: tuple[LayerError, ...]
    control: str
    skipped: tuple[str, ...]


def equivariance(
    module: nn.Module, model: UserModel, problem: Problem, images: Float[Tensor, "m *s"]
) -> Equivariance:
    """The asymmetry of a network's outputs and the equivariance error of each of its layers.

    Args:
        module: The network, in float64.
        model: How it takes inputs.
        problem: What acts.
        images: Items, before standardisation; the first few are used.
    """
    x = images[:ITEMS].double().cpu()
    module = module.to("cpu", torch.float64).eval()

    def see(items: Tensor) -> Tensor:
        return arrange_inputs(prepared(items[None], problem.standardised, problem.data.name)[0], model.layout)

    with torch.no_grad():
        size = float(module(see(x)).norm(dim=1).mean())
        loss = float(asymmetry_loss(lambda items: module(see(items)), x, problem.action))
        elements = _thinned(problem.action)
        exact = [g for g in elements if _is_exact(problem.action, g, x)]
        rough = [g for g in elements if g not in exact]
        totals, kinds = _errors(module, see, problem, problem.action, exact, x)
        control = f"{len(exact)} elements of {problem.group.name} that move pixels exactly"
        if not exact:
            quarter = rotation(4) if problem.family and x.shape[-1] == x.shape[-2] else None
            if quarter is not None:
                totals, kinds = _errors(module, see, problem, quarter, [1, 2, 3], x)
                control = "quarter turns of the same images"
            else:
                control = "none: no element is exact on this grid"
        rough_totals, rough_kinds = _errors(module, see, problem, problem.action, rough, x)
    kinds = {**rough_kinds, **kinds}
    rows = [
        _row(name, *kinds[name], totals.get(name), rough_totals.get(name)) for name in kinds if kinds[name][1]
    ]
    skipped = tuple(name for name in kinds if not kinds[name][1])
    return Equivariance(loss / max(size, 1e-300), tuple(rows), control, skipped)


def _row(layer: str, kind: str, target: str, exact: float | None, rough: float | None) -> LayerError:
    model = float("nan") if exact is None else exact
    if rough is None:
        return LayerError(layer, kind, target, model, float("nan"))
    return LayerError(layer, kind, target, model, rough if exact is None else max(0.0, rough - exact))


def _thinned(action: Action) -> list[int]:
    others = [g for g in action.group.elements if g != action.group.identity]
    step = -(-len(others) // ELEMENTS)
    return others[::step] if step > 1 else others


def _is_exact(action: Action, g: int, x: Tensor) -> bool:
    back = action.act(action.group.inverse(g), action.act(g, x))
    return float((back - x).norm()) <= EXACT * float(x.norm())


def _errors(
    module: nn.Module,
    see: Callable[[Tensor], Tensor],
    problem: Problem,
    action: Action,
    elements: list[int],
    x: Tensor,
) -> tuple[dict[str, float], dict[str, tuple[str, str]]]:
    """For each layer the mean error over these elements, and what it is and should do."""
    if not elements:
        return {}, {}
    plain, types = _activations(module, see(x))
    kinds: dict[str, tuple[str, str]] = {}
    movers: dict[str, Callable[[int, Tensor], Tensor] | None] = {}
    for name, value in plain.items():
        movers[name], target = _mover(value, problem, action, x)
        kinds[name] = (types[name], target)
    totals = {name: 0.0 for name, mover in movers.items() if mover is not None}
    for g in elements:
        moved, _ = _activations(module, see(action.act(g, x)))
        for name in totals:
            mover = movers[name]
            assert mover is not None
            here = plain[name]
            size = float(here.norm())
            apart = float((moved[name] - mover(g, here)).norm())
            totals[name] += (apart / size if size > 0 else 0.0) / len(elements)
    return totals, kinds


def _activations(module: nn.Module, x: Tensor) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The output of every part without parts of its own, and of the whole."""
    found: dict[str, Tensor] = {}
    types: dict[str, str] = {}
    hooks = []

    def keep(name: str, kind: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(part: nn.Module, given: Any, out: Any) -> None:
            if isinstance(out, Tensor) and out.ndim >= 2 and name not in found:
                found[name], types[name] = out.detach(), kind

        return hook

    for name, part in module.named_modules():
        if next(part.children(), None) is None and not isinstance(part, SILENT):
            hooks.append(part.register_forward_hook(keep(name or "network", type(part).__name__)))
    try:
        module(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found, types


def _mover(
    value: Tensor, problem: Problem, action: Action, x: Tensor
) -> tuple[Callable[[int, Tensor], Tensor] | None, str]:
    """How the group should act on a layer's output, in a function of an element, and in a word."""
    if value.ndim == 2 or (value.ndim == 4 and value.shape[-2:] == (1, 1)):
        return (lambda g, a: a), "invariant"
    if value.ndim == 3 and action.sample_ndim == 2:  # tokens of a transformer, on a grid
        side = math.isqrt(value.shape[1])
        if side * side != value.shape[1]:
            return None, ""
        acting = _acting(problem, action, (side, side), x)
        if acting is None:
            return None, ""

        def tokens(g: int, a: Tensor) -> Tensor:
            grid = a.transpose(1, 2).unflatten(2, (side, side))
            return acting.act(g, grid).flatten(2).transpose(1, 2)

        return tokens, "equivariant"
    if value.ndim == 4 and action.sample_ndim == 2:
        maps = _acting(problem, action, (value.shape[2], value.shape[3]), x)
        return (None, "") if maps is None else (maps.act, "equivariant")
    return None, ""


def _acting(problem: Problem, action: Action, shape: tuple[int, int], x: Tensor) -> Action | None:
    """The same action on maps of another size, if there is one."""
    if shape == tuple(x.shape[-2:]):
        return action
    try:
        return parse_action(action.name, action.group, shape)
    except InputError:  # a user's own action, or shifts by less than a pixel
        return None
