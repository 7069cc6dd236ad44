"""The same forecast for what a user could do about it: more transformations, augmentation, averaging."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.data import Action, parse_action
from symscope.errors import InputError, SingularKernelError
from symscope.forecasting._kernel_choice import TangentKernel
from symscope.forecasting._kernel_prediction import FALLBACK_RIDGE, ResamplePrediction, resample_prediction
from symscope.forecasting._options import ForecastOptions
from symscope.forecasting._prediction_task import group_means
from symscope.forecasting._question import Question, missing_masks
from symscope.forecasting._resample import Resample, action_orbit, draw_resample, standardise_points
from symscope.spectral import leave_out, leave_out_residual, precision, projected_profile

ORDERS = (2, 4, 8, 16, 32, 64)
GramOf = Callable[[Tensor], Tensor]
SAME = 1e-7  # relative distance of images at which an augmented copy is the missing image itself


@final
@dataclass(frozen=True)
class GroupSizeForecast:
    """The forecast with another number of transformations.

    Attributes:
        group: Name of the group.
        transformations: Number of its elements.
        accuracy: Predicted held-out accuracy, mean over classes.
        per_class: Samples of each class it was computed with.
    """

    group: str
    transformations: int
    accuracy: float
    per_class: int


def group_size_forecasts(
    question: Question, tangent: TangentKernel, options: ForecastOptions, most: int
) -> tuple[GroupSizeForecast, ...]:
    """The forecast for coarser and finer groups of the same family, until the target or the budget is met.

    Args:
        question: Data, action and target; finer groups are not tried once it is reached.
        tangent: Kernel of the network.
        options: Seed and effort.
        most: Samples of each class; fewer are taken where that keeps a group within the budget.

    Returns:
        One entry per group, by size; none if the action has no family.
    """
    kernel = tangent.kernel(options.seed)
    classes = len(question.data.classes)
    result: list[GroupSizeForecast] = []
    for action in action_family(question):
        order = action.group.order
        count = tangent.affordable_samples(classes * order, most, options.effort)
        if count == 0:
            break
        resample = draw_resample(replace(question, action=action), count, options.seed)
        prediction = resample_prediction(kernel(resample.flat), resample, action.group)
        result.append(GroupSizeForecast(action.group.name, order, float(prediction.accuracy.mean()), count))
        if result[-1].accuracy >= question.target and order >= question.group.order:
            break
    return tuple(result)


def action_family(question: Question) -> tuple[Action, ...]:
    """Actions of the same kind by smaller and larger groups, in order; none if there is no such family.

    >>> from symscope.data import mnist_sample
    >>> from symscope.forecasting._question import as_question
    >>> [a.group.name for a in action_family(as_question(mnist_sample(), "C4 shift-x"))]
    ['C2', 'C4', 'C7', 'C14', 'C28']
    """
    if question.family is None:
        return ()
    plain = question.family.partition(":")[0]
    mirrored = question.group.cyclic_factors is None
    side = question.shape[-2 if plain == "shift-y" else -1]
    orders = [n for n in range(2, side + 1) if side % n == 0] if plain.startswith("shift") else list(ORDERS)
    steps = question.group.order // 2 if mirrored else question.group.order
    made = []
    for n in sorted({*orders, steps}):
        try:
            made.append(parse_action(question.family, f"{'D' if mirrored else 'C'}{n}", question.shape[-2:]))
        except InputError:  # a step that does not fit this image
            continue
    return tuple(made)


def sufficient_group(forecasts: Sequence[GroupSizeForecast], target: float) -> GroupSizeForecast | None:
    """The smallest group from which on the target is reached, or None.

    >>> accuracies = {2: 1.0, 4: 0.4, 8: 0.95}
    >>> rows = [GroupSizeForecast(f"C{n}", n, accuracy, 1) for n, accuracy in accuracies.items()]
    >>> sufficient_group(rows, 0.9).group
    'C8'
    """
    last = next((k for k in reversed(range(len(forecasts))) if forecasts[k].accuracy < target), -1)
    return forecasts[last + 1] if last + 1 < len(forecasts) else None


def augmented_accuracy(question: Question, kernel: GramOf, resample: Resample) -> tuple[float, float]:
    """Accuracy on missing images when all seen ones are also moved to the missing position.

    The training data then holds `h^-1 (h x)` for every seen h: the missing image itself where the action is
    exact, and a twice interpolated copy of it where it is not.

    Args:
        question: Action and data.
        kernel: Function from points to their Gram matrix.
        resample: Samples and their orbits.

    Returns:
        The accuracy, mean over classes, and the mean relative distance of the copies from the missing image.
    """
    order, identity = question.group.order, question.group.identity
    action, group = question.action, question.group
    back = torch.stack([action.act(group.inverse(h), resample.images[:, h]) for h in group.elements], 1)
    upright = resample.images[:, identity : identity + 1]
    others = [h for h in group.elements if h != identity]
    away = (back - upright).flatten(2).norm(dim=2) / upright.flatten(2).norm(dim=2)
    distance = float(away[:, others].mean())
    if float(away.max()) <= SAME:
        return 1.0, distance  # the missing image is in the training data: regression returns its label
    copies = standardise_points(back[:, others], question.standardised, question.data.name)
    points = torch.cat([resample.flat, copies.flatten(0, 1)])
    gram = kernel(points)
    inverse = precision(gram, FALLBACK_RIDGE * float(gram.diagonal().mean()))
    labels = torch.cat(
        [resample.outputs.repeat_interleave(order, 0), resample.outputs.repeat_interleave(order - 1, 0)]
    )
    shares = []
    for c in range(resample.classes):
        samples = (resample.positions == c).nonzero()[:, 0]
        at = samples * order + identity
        predicted = labels[at] - leave_out_residual(inverse, labels, at)
        shares.append(float(resample.scores(predicted, samples).mean()))
    return sum(shares) / len(shares), distance


def averaged_prediction(
    question: Question, kernel: GramOf, resample: Resample, elements: Sequence[int]
) -> ResamplePrediction:
    """What is predicted for a network whose outputs are averaged over some elements.

    Its kernel is `mean_g,h k(g x, h y)`; images are really transformed again, so that interpolation counts.

    Args:
        question: Action and data.
        kernel: Function from points to their Gram matrix.
        resample: Samples and their orbits.
        elements: Elements to average over.
    """
    again = action_orbit(question.action, resample.images.flatten(0, 1))[:, list(elements)]
    points = standardise_points(again, question.standardised, question.data.name)
    count = len(elements)
    gram = kernel(points.flatten(0, 1)).unflatten(1, (-1, count)).unflatten(0, (-1, count)).mean((1, 3))
    free = replace(resample, stabilisers=None)
    return resample_prediction((gram + gram.T) / 2, free, question.group)


def invariant_accuracy(gram: Float[Tensor, "p p"], question: Question, resample: Resample) -> float:
    """Accuracy when the kernel is averaged over the group and the action is taken to be exact.

    Only the trivial irrep of the profile is left: every missing image has the value of seen ones.
    """
    flat = projected_profile(gram, question.group).profile.mean(2, keepdim=True)
    constant = flat.expand(-1, -1, question.group.order).contiguous()
    masks = missing_masks(resample.labels, question.group, None)
    try:
        result = leave_out(constant, resample.outputs, masks, question.group, 0.0)
    except SingularKernelError:  # two samples with the same orbit mean
        ridge = FALLBACK_RIDGE * float(gram.diagonal().mean())
        result = leave_out(constant, resample.outputs, masks, question.group, ridge)
    scores = resample.scores(result.prediction, result.samples)
    return float(group_means(scores, result.sets, len(masks)).mean())


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
