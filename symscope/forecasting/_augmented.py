"""The same forecast for what a user could do about it: augment, average over the group, build it in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.forecasting._expectation import FALLBACK_RIDGE, Expectation, expectation, missing_masks
from symscope.forecasting._question import Draw, Problem, acted, prepared
from symscope.forecasting._task import group_means
from symscope.spectral import leave_out, leave_out_residual, precision, projected_profile

GramOf = Callable[[Tensor], Tensor]
SAME = 1e-7  # relative distance of images at which an augmented copy is the missing image itself


def augmented_accuracy(problem: Problem, kernel: GramOf, draw: Draw) -> tuple[float, float]:
    """Accuracy on missing images when all seen ones are also turned into the missing position.

    The training data then holds `h^-1 (h x)` for every seen h: the missing image itself where the action is
    exact, and a twice interpolated copy of it where it is not.

    Args:
        problem: What acts.
        kernel: The Gram matrix of points.
        draw: The items.

    Returns:
        The accuracy, mean over classes, and the mean relative distance of the copies from the missing image.
    """
    order, identity = problem.group.order, problem.group.identity
    back = torch.stack(
        [problem.action.act(problem.group.inverse(h), draw.images[:, h]) for h in problem.group.elements], 1
    )
    seeds = draw.images[:, identity : identity + 1]
    others = [h for h in problem.group.elements if h != identity]
    away = (back - seeds).flatten(2).norm(dim=2) / seeds.flatten(2).norm(dim=2)
    distance = float(away[:, others].mean())
    if float(away.max()) <= SAME:
        return 1.0, distance  # the missing image is in the training data: regression returns its label
    copies = prepared(back[:, others], problem.standardised, problem.data.name)
    points = torch.cat([draw.flat, copies.flatten(0, 1)])
    gram = kernel(points)
    inverse = precision(gram, FALLBACK_RIDGE * float(gram.diagonal().mean()))
    labels = torch.cat(
        [draw.outputs.repeat_interleave(order, 0), draw.outputs.repeat_interleave(order - 1, 0)]
    )
    shares = []
    for c in range(draw.classes):
        items = (draw.positions == c).nonzero()[:, 0]
        at = items * order + identity
        predicted = labels[at] - leave_out_residual(inverse, labels, at)
        shares.append(float(draw.scores(predicted, items).mean()))
    return sum(shares) / len(shares), distance


def averaged_accuracy(problem: Problem, kernel: GramOf, draw: Draw, elements: Sequence[int]) -> float:
    """Accuracy on missing images of a network whose outputs are averaged over some elements.

    Its kernel is `mean_g,h k(g x, h y)`; images are really turned again, so that interpolation counts.

    Args:
        problem: What acts.
        kernel: The Gram matrix of points.
        draw: The items.
        elements: Over which to average.
    """
    return float(averaged_expectation(problem, kernel, draw, elements).accuracy.mean())


def averaged_expectation(
    problem: Problem, kernel: GramOf, draw: Draw, elements: Sequence[int]
) -> Expectation:
    """As `averaged_accuracy`, with everything else that is expected."""
    again = acted(problem.action, draw.images.flatten(0, 1))[:, list(elements)]
    points = prepared(again, problem.standardised, problem.data.name)
    count = len(elements)
    gram = kernel(points.flatten(0, 1)).unflatten(1, (-1, count)).unflatten(0, (-1, count)).mean((1, 3))
    free = replace(draw, stabilisers=None)
    return expectation((gram + gram.T) / 2, free, problem.group)


def invariant_accuracy(gram: Float[Tensor, "p p"], problem: Problem, draw: Draw) -> float:
    """Accuracy when the kernel is averaged over the group and the action is taken to be exact.

    Only the trivial irrep of the profile is left: every missing image has the value of seen ones.
    """
    flat = projected_profile(gram, problem.group).profile.mean(2, keepdim=True)
    constant = flat.expand(-1, -1, problem.group.order).contiguous()
    masks = missing_masks(draw.labels, problem.group, None)
    try:
        found = leave_out(constant, draw.outputs, masks, problem.group, 0.0)
    except InputError:  # two items with the same orbit mean
        ridge = FALLBACK_RIDGE * float(gram.diagonal().mean())
        found = leave_out(constant, draw.outputs, masks, problem.group, ridge)
    scores = draw.scores(found.prediction, found.samples)
    return float(group_means(scores, found.sets, len(masks)).mean())


def exact_elements(problem: Problem, x: Float[Tensor, "m *s"]) -> tuple[int, ...]:
    """The subgroup of elements that move the given images exactly: quarter turns among rotations."""
    group = problem.group
    found = []
    for g in group.elements:
        back = problem.action.act(group.inverse(g), problem.action.act(g, x))
        if float((back - x).norm()) <= SAME * float(x.norm()):
            found.append(g)
    members = set(found)
    closed = all(group.multiply(a, b) in members for a in found for b in found)
    return tuple(found) if closed else (group.identity,)
