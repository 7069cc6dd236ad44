"""Where the symmetry is broken: equivariance errors layer by layer, and cautions in words."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from symscope.auditing import exact_elements, layer_errors
from symscope.data import Action, rotation
from symscope.errors import InputError
from symscope.forecasting._orbit_points import standardise_points
from symscope.forecasting._question import Question
from symscope.forecasting._short_repr import short_repr
from symscope.linear import asymmetry_loss
from symscope.networks import UserModel, arrange_inputs

MEASURED_SAMPLES = 6  # samples that errors are measured on
MEASURED_ELEMENTS = 12  # elements that errors are measured with; larger groups are thinned out
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
        asymmetry: `mean_x |f(x) - mean_g rho(g)^-1 f(g x)|` of the outputs, over their mean norm; rho is
            the action on targets, which leaves them as they are where none was named.
        layers: Error of every layer by itself.
        whole: Error of the whole network, `|f(g x) - rho(g) f(x)| / |f(x)|`; what breaks the symmetry between
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

    Raises:
        InputError: Outputs that are not finite.
    """
    x = images[:MEASURED_SAMPLES].double().cpu()
    module, target = module.to("cpu", torch.float64).eval(), question.target_action

    def inputs(samples: Tensor) -> Tensor:
        points = standardise_points(
            samples[None], question.standardised, question.data.name, coordinates=question.coordinates
        )[0]
        return arrange_inputs(points, model.layout)

    with torch.no_grad():
        outputs = module(inputs(x))
        if not bool(outputs.isfinite().all()):
            raise InputError(
                f"model {model.name}: expected finite outputs of the untrained network, got NaN or infinite "
                "ones; check its initial weights and its forward."
            )
        size = float(outputs.norm(dim=1).mean())
        loss = float(asymmetry_loss(lambda samples: module(inputs(samples)), x, question.action, target))
        elements = _measured_elements(question.action)
        exact = list(exact_elements(question.action, x, elements))
        rough = [g for g in elements if g not in exact]
        totals, kinds = layer_errors(module, inputs, question.action, exact, x, target)
        control = f"{len(exact)} elements of {question.group.name} that act exactly"
        if not exact:
            square = question.family and x.shape[-1] == x.shape[-2]
            quarter = rotation(4) if square and target is None else None
            if quarter is not None:
                totals, kinds = layer_errors(module, inputs, quarter, [1, 2, 3], x)
                control = "quarter turns of the same images"
            else:
                control = "no element: none is exact on this grid"
        rough_totals, rough_kinds = layer_errors(module, inputs, question.action, rough, x, target)
    kinds = {**rough_kinds, **kinds}
    rows = [
        _row(name, *kinds[name], totals.get(name), rough_totals.get(name)) for name in kinds if kinds[name][1]
    ]
    skipped = tuple(name for name in kinds if not kinds[name][1])
    return Equivariance(loss / max(size, 1e-300), tuple(rows[1:]), rows[0], control, skipped)


def is_symmetric(
    module: nn.Module,
    model: UserModel,
    question: Question,
    images: Float[Tensor, "m *s"],
    target: Action | None = None,
) -> bool:
    """Whether outputs are invariant, or equivariant, by the architecture: with other weights too.

    Args:
        module: The network, which is left as it is.
        model: Layout of its inputs.
        question: Action on the samples.
        images: Samples before standardisation; the first two are used.
        target: Group action on rows of outputs; None asks whether they are invariant.

    >>> from symscope.data import mnist_sample
    >>> from symscope.forecasting._question import as_question
    >>> from symscope.networks import user_model
    >>> question = as_question(mnist_sample(), "C4 shift-x")
    >>> whole = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
    >>> mean = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1, 10))
    >>> pairs = [(net, user_model(net, (28, 28), 10)) for net in (whole, mean)]
    >>> [is_symmetric(net, model, question, question.data.x[:2]) for net, model in pairs]
    [False, True]
    """
    other = copy.deepcopy(module).to("cpu", torch.float64).eval()
    generator = torch.Generator().manual_seed(0)
    x = images[:2].double().cpu()

    def outputs(samples: Tensor) -> Tensor:
        points = standardise_points(
            samples[None], question.standardised, question.data.name, coordinates=question.coordinates
        )[0]
        result: Tensor = other(arrange_inputs(points, model.layout))
        return result

    with torch.no_grad():
        for weights in other.parameters():  # zeros in a last layer would hide what it is given
            noise = torch.randn(weights.shape, generator=generator, dtype=weights.dtype)
            weights.add_(noise, alpha=OTHER_WEIGHTS)
        size = float(outputs(x).norm(dim=1).mean())
        return float(asymmetry_loss(outputs, x, question.action, target)) < INVARIANT * size


def _row(layer: str, kind: str, target: str, exact: float | None, rough: float | None) -> LayerError:
    model = float("nan") if exact is None else exact
    if rough is None:
        return LayerError(layer, kind, target, model, float("nan"))
    return LayerError(layer, kind, target, model, rough if exact is None else max(0.0, rough - exact))


def _measured_elements(action: Action) -> list[int]:
    others = [g for g in action.group.elements if g != action.group.identity]
    step = -(-len(others) // MEASURED_ELEMENTS)
    return others[::step] if step > 1 else others


def exact_subgroup(question: Question, x: Float[Tensor, "m *s"]) -> tuple[int, ...]:
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
