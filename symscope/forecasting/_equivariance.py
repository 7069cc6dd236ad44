"""Where the symmetry is broken: equivariance errors layer by layer, and cautions in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from symscope.data import Action, default_tolerance, fixing_elements, parse_action, rotation
from symscope.errors import InputError
from symscope.forecasting._question import Question
from symscope.forecasting._remedies import exact_elements
from symscope.forecasting._resample import Resample, standardise_points
from symscope.groups import FiniteGroup
from symscope.linear import asymmetry_loss
from symscope.networks import UserModel, arrange_inputs

MEASURED_SAMPLES = 6  # samples that errors are measured on
WITHOUT_ERROR = (nn.Flatten, nn.Identity, nn.Dropout)  # nothing to be equivariant
MEASURED_ELEMENTS = 12  # elements that errors are measured with; larger groups are thinned out
EXACT = 1e-9  # `|g^-1 (g x) - x| / |x|` below which an element counts as exact on the grid
FAR = 0.05  # relative distance from an invariant kernel that deserves a caution
MOVED = {"rotation": "turned", "dihedral": "turned or mirrored", "flip": "mirrored"}
CORNER = 0.01  # share of an image's energy outside the inscribed circle that deserves a caution


@final
@dataclass(frozen=True)
class LayerError:
    """How far one layer is from equivariance, `|f(g x) - g f(x)| / |f(x)|`, mean over elements and samples.

    Attributes:
        layer: Name of the layer in the network.
        kind: Class of the layer.
        target: "equivariant" where the group also moves the output's positions, "invariant" where the output
            has none and should not change.
        model: Error over elements that move pixels exactly (the control): the network's own part.
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
        layers: Error of every layer.
        control: The exact elements that the model's part is measured with.
        skipped: Layers whose outputs the group does not act on in a known way.
    """

    asymmetry: float
    layers: tuple[LayerError, ...]
    control: str
    skipped: tuple[str, ...]


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
        control = f"{len(exact)} elements of {question.group.name} that move pixels exactly"
        if not exact:
            quarter = rotation(4) if question.family and x.shape[-1] == x.shape[-2] else None
            if quarter is not None:
                totals, kinds = _errors(module, inputs, question, quarter, [1, 2, 3], x)
                control = "quarter turns of the same images"
            else:
                control = "none: no element is exact on this grid"
        rough_totals, rough_kinds = _errors(module, inputs, question, question.action, rough, x)
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
    """For each layer the mean error over these elements, and its class and target."""
    if not elements:
        return {}, {}
    plain, types = _activations(module, inputs(x))
    kinds: dict[str, tuple[str, str]] = {}
    movers: dict[str, Callable[[int, Tensor], Tensor] | None] = {}
    for name, value in plain.items():
        movers[name], target = _mover(value, question, action, x)
        kinds[name] = (types[name], target)
    totals = {name: 0.0 for name, mover in movers.items() if mover is not None}
    for g in elements:
        moved, _ = _activations(module, inputs(action.act(g, x)))
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
    result: dict[str, Tensor] = {}
    types: dict[str, str] = {}
    hooks = []

    def keep(name: str, kind: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(part: nn.Module, given: Any, out: Any) -> None:
            if isinstance(out, Tensor) and out.ndim >= 2 and name not in result:
                result[name], types[name] = out.detach(), kind

        return hook

    for name, part in module.named_modules():
        if next(part.children(), None) is None and not isinstance(part, WITHOUT_ERROR):
            hooks.append(part.register_forward_hook(keep(name or "network", type(part).__name__)))
    try:
        module(x)
    finally:
        for hook in hooks:
            hook.remove()
    return result, types


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


def symmetry_cautions(invariance_error: float, resample: Resample, group: FiniteGroup) -> tuple[str, ...]:
    """Warnings where the group form is rough: a kernel that is not invariant, points that coincide.

    Args:
        invariance_error: Relative distance from an invariant kernel, `|K - projected K| / |K|`.
        resample: Samples and their orbits.
        group: Group that acts.

    >>> from symscope.data import mnist_sample
    >>> from symscope.forecasting._question import as_question
    >>> from symscope.forecasting._resample import draw_resample
    >>> question = as_question(mnist_sample(), "C4")
    >>> symmetry_cautions(0.2, draw_resample(question, 1, 0), question.group)[0][:43]
    'The kernel is not invariant under C4 (20 %)'
    """
    result = []
    if invariance_error > FAR:
        result.append(
            f"The kernel is not invariant under {group.name} ({100 * invariance_error:.0f} %): the network, "
            "or the action, breaks the symmetry. The forecast uses the nearest invariant kernel and may be "
            "off; the accuracy of each transformation, left out in turn, does not assume invariance."
        )
    flat = resample.images.flatten(2)
    fixing, closed = fixing_elements(flat, flat[:, group.identity], group, default_tolerance(flat.dtype))
    if not bool(closed.all()):
        at = int((~closed).nonzero()[0])
        names = ", ".join(group.labels[g] for g in fixing[at].tolist()[:6])
        result.append(
            f"{int((~closed).sum())} of {len(closed)} samples are the same under elements of {group.name} "
            f"that are no subgroup ({names}): this is a group action only approximately, and what is left "
            "out under one of them is seen under another; use fewer transformations."
        )
    return tuple(result)


def layer_cautions(
    module: nn.Module, model: UserModel, question: Question, images: Float[Tensor, "m *s"]
) -> tuple[str, ...]:
    """Warnings for image size, padding and stride, each with the layer and the numbers.

    Args:
        module: The network.
        model: Layout of its inputs.
        question: Action and images.
        images: Some samples.

    >>> from symscope.data import mnist_sample
    >>> from symscope.networks import user_model
    >>> from symscope.forecasting._question import as_question
    >>> net = nn.Sequential(nn.Conv2d(1, 2, 3, stride=2), nn.Flatten(), nn.Linear(338, 10))
    >>> question = as_question(mnist_sample(), "C4")
    >>> layer_cautions(net, user_model(net, (28, 28), 10), question, question.data.x[:3])[0][:41]
    "Layer '0' (Conv2d): windows of 3 in steps"
    """
    if question.kind not in ("image", "series"):
        return ()
    name = question.action.name.partition(":")[0]
    moved = MOVED.get(name.partition("-")[0])
    result: list[str] = []
    strides = 1
    for label, part, size in _windows(module, model, images):
        kernel, stride, padding, dilation = (
            _first(part, key) for key in ("kernel_size", "stride", "padding", "dilation")
        )
        left = (size + 2 * padding - dilation * (kernel - 1) - 1) % stride
        if moved is not None and left:
            result.append(
                f"Layer {label!r} ({type(part).__name__}): windows of {kernel} in steps of {stride} on "
                f"{size} positions leave {left} over on one side, so that {moved} samples are cut "
                "differently; use a size, padding or stride that fits."
            )
        if name.startswith("shift"):
            result += _shift_cautions(label, part, question, stride, strides, padding)
        strides *= stride
    if name in ("rotation", "dihedral") and len(exact_elements(question, images[:2])) < question.group.order:
        result += _corner_caution(images)
    return tuple(result)


def _shift_cautions(
    label: str, part: nn.Module, question: Question, stride: int, strides: int, padding: int
) -> list[str]:
    result = []
    factors = question.group.cyclic_factors or (1,)
    step = question.shape[-1] // factors[-1]
    if stride > 1 and step % (strides * stride):
        result.append(
            f"Layer {label!r} ({type(part).__name__}): by here one position is {strides * stride} of the "
            f"input's; shifts by {step} are no whole number of positions."
        )
    if padding and getattr(part, "padding_mode", "zeros") != "circular":
        result.append(
            f"Layer {label!r} ({type(part).__name__}): zero padding of {padding} shows the network where the "
            "edge is, so that shifted samples look different there; use padding_mode='circular'."
        )
    return result


def _corner_caution(images: Float[Tensor, "m *s"]) -> list[str]:
    height, width = images.shape[-2:]
    rows = torch.arange(height) - (height - 1) / 2
    columns = torch.arange(width) - (width - 1) / 2
    outside = (rows[:, None] ** 2 + columns[None] ** 2) > (min(height, width) / 2) ** 2
    share = float(images[..., outside].square().sum() / images.square().sum().clamp_min(1e-300))
    if share < CORNER:
        return []
    side = math.ceil(max(height, width) * math.sqrt(2))
    return [
        f"{share:.0%} of the images' energy lies outside the inscribed circle and is cut off when they are "
        f"turned; pad them to {side} x {side} pixels first."
    ]


def _windows(module: nn.Module, model: UserModel, images: Tensor) -> list[tuple[str, nn.Module, int]]:
    """The layers that slide windows over images, and the width they do it on, in the order they run."""
    result: list[tuple[str, nn.Module, int]] = []
    hooks = []
    for label, part in module.named_modules():
        if isinstance(part, (nn.Conv2d, nn.MaxPool2d, nn.AvgPool2d)):

            def hook(own: nn.Module, given: Any, label: str = label) -> None:
                result.append((label, own, given[0].shape[-1]))

            hooks.append(part.register_forward_pre_hook(hook))
    try:
        with torch.no_grad():
            weights = next(module.parameters())
            module(arrange_inputs(images[:1].to(weights), model.layout))
    finally:
        for one in hooks:
            one.remove()
    return result


def _first(part: nn.Module, key: str) -> int:
    value = getattr(part, key, 1)
    if value == "same":
        return (_first(part, "kernel_size") - 1) // 2
    if value == "valid":
        return 0
    value = value[-1] if isinstance(value, (tuple, list)) else value
    return int(value) if value is not None else _first(part, "kernel_size")
