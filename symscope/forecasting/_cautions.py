"""Warnings in words: kernels that are not invariant, points that coincide, outputs, image size, padding."""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from symscope.auditing import data_symmetry, mixed_labels
from symscope.data import MeasuredData, default_tolerance, fixing_elements
from symscope.errors import InputError
from symscope.forecasting._equivariance import exact_subgroup, is_symmetric
from symscope.forecasting._question import Question
from symscope.forecasting._resample import Resample
from symscope.forecasting._sample_split import ForecastSamples
from symscope.forecasting._targets import Targets
from symscope.groups import FiniteGroup
from symscope.networks import UserModel, arrange_inputs
from symscope.training import module_outputs

MOST_CLASSES = 64  # whole numbers of maps that may be classes
COMPARED_NUMBERS = 400  # samples by which is judged whether targets change as was said
COMPARED = 8000  # points that are compared to see whether labels survive
COMPARED_PER_SECOND = 1000  # of the budget: a few per cent of it
COMPARED_ELEMENTS = 12  # elements they are compared in, each with its inverse; larger groups are thinned out
FEWEST_COMPARED = 20  # samples of a class
MIXED_OVERLAP = 0.5  # of two classes, one of them moved, from which nothing invariant is advised
MOST_PAIRS = 3  # pairs of classes that are named
FAR = 0.05  # relative distance from an invariant kernel that deserves a caution
MOVED = {"rotation": "turned", "dihedral": "turned or mirrored", "flip": "mirrored"}
SUMS_TO_ONE = 1e-5  # error of a sum of probabilities in single precision
CORNER = 0.01  # share of an image's energy outside the inscribed circle that deserves a caution


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


def label_cautions(
    samples: ForecastSamples, question: Question, most: int = COMPARED
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Warnings where classes become each other, or targets others: labels do not survive the transformation.

    Then training data that is augmented holds the same points with different labels; `mixed_labels` tests it,
    and for numbers to predict `data_symmetry`.

    Args:
        samples: Known samples under every element.
        question: Names of classes and elements.
        most: Points that are compared at most, but for the fewest of each class.

    Returns:
        Warnings for pairs that become each other so far that nothing invariant is advised, and for others.
    """
    if question.targets is not None:
        return _number_cautions(question, question.targets)
    group, positions = question.group, samples.known.positions
    elements = [g for g in group.elements if g != group.identity and g <= group.inverse(g)]
    elements = [group.identity, *elements[:: max(1, -(-len(elements) // COMPARED_ELEMENTS))]]
    each = max(FEWEST_COMPARED, most // (samples.classes * len(elements)))
    chosen = torch.cat([(positions == c).nonzero()[:, 0][:each] for c in range(samples.classes)])
    points = samples.known.points[chosen][:, elements]
    whole, part = [], []
    for one in mixed_labels(points, positions[chosen], elements, question.action):
        found = one.sentence(question.class_names, question.element_names)
        if one.overlap >= MIXED_OVERLAP:
            whole.append(
                f"Labels do not survive the transformation: {found} Augmenting, averaging and building the "
                "symmetry in would mix them up; they are left out of the price list."
            )
        else:
            part.append(
                f"Some labels do not survive the transformation: {found} Augmenting, averaging and building "
                "the symmetry in cost accuracy there."
            )
    return tuple(whole[:MOST_PAIRS]), tuple(part[:MOST_PAIRS])


def _number_cautions(question: Question, targets: Targets) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Warnings where samples that look like others, moved, have other targets than was said."""
    if question.elements is not None:  # compared are samples as the data has them
        return (), ()
    some = torch.arange(len(question.data))[:: -(-len(question.data) // COMPARED_NUMBERS)]
    shown = MeasuredData(question.data.x[some].cpu(), targets.values[some, 0], question.data.name, "")
    try:
        tests = data_symmetry(shown, question.action, target=question.target_action).targets
    except InputError:  # too few samples to compare
        return (), ()
    changed = [one for one in tests if one.verdict == "changes"]
    if not changed:
        return (), ()
    said = "stay the same" if question.target_action is None else f"change as {question.target_action.name}"
    names = ", ".join(question.element_names[one.element] for one in changed[:MOST_PAIRS])
    found = (
        f"the targets do not {said}: samples moved by {names} look like others of the data, from which a fit "
        f"predicts what was said with an error of {changed[0].moved_error:.2f} of the variance, as they are "
        f"with {changed[0].error:.2f}."
    )
    mostly = len(changed) > sum(one.verdict == "survives" for one in tests)
    if mostly or question.target_action is not None:
        how = "look at the target action, its signs (x to the right, y up) and the order of its elements"
        return (
            f"It seems that {found} Augmenting, averaging and building the symmetry in would teach wrong "
            f"targets; they are left out of the price list: {how}.",
        ), ()
    return (), (f"In part {found} Augmenting, averaging and building the symmetry in cost accuracy there.",)


def target_cautions(
    module: nn.Module, model: UserModel, question: Question, images: Float[Tensor, "m *s"]
) -> tuple[str, ...]:
    """Warnings where outputs do not suit targets: probabilities, maps of classes, an invariant network.

    Args:
        module: The network.
        model: Layout of its inputs.
        question: Actions on samples and targets.
        images: Some samples.
    """
    result = _probabilities(module, model, images) if question.task.kind == "classification" else []
    if len(question.target_shape) > 1:
        result += _class_maps(question)
    if question.target_action is None or not is_symmetric(module, model, question, images):
        return tuple(result)
    return (
        *result,
        f"{model.name} is invariant under {question.group.name} by its architecture, so that its outputs "
        "cannot change with the sample as the targets do, whatever it is trained on; take a network that "
        "keeps positions up to its outputs.",
    )


def _probabilities(module: nn.Module, model: UserModel, images: Float[Tensor, "m *s"]) -> list[str]:
    """A warning where outputs are probabilities already."""
    weight = next(module.parameters(), images)
    outputs = module_outputs(module.eval(), arrange_inputs(images, model.layout).to(weight))
    if outputs.shape[1] < 2 or not bool((outputs >= 0).all()):
        return []
    if not bool((outputs.sum(1) - 1).abs().lt(SUMS_TO_ONE).all()):
        return []
    return [
        f"The outputs of {model.name} are probabilities, as after a softmax. Trainings here, as PyTorch's "
        "cross_entropy, take outputs before it (logits) and apply it themselves: with two of them networks "
        "learn slowly and never become sure. Leave the last softmax out."
    ]


def _class_maps(question: Question) -> list[str]:
    """A warning where maps hold numbers of several classes."""
    assert question.targets is not None
    values = question.targets.values[:, 0].unique()
    if not 2 < len(values) <= MOST_CLASSES or not bool((values == values.round()).all()):
        return []
    return [
        f"The maps hold {len(values)} whole numbers, as masks of classes do, and are fitted as numbers, of "
        "which 2 lies between 1 and 3; for classes give a channel for each, [n, classes, height, width]."
    ]


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
    if name in ("rotation", "dihedral") and len(exact_subgroup(question, images[:2])) < question.group.order:
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
