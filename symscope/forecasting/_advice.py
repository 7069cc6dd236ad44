"""What to do, ranked, each with a number from the same forecast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from symscope.errors import InputError
from symscope.forecasting._augmented import (
    augmented_accuracy,
    averaged_accuracy,
    exact_elements,
    invariant_accuracy,
)
from symscope.forecasting._expectation import expectation
from symscope.forecasting._kernel_choice import Tangent, tangent_of
from symscope.forecasting._question import Problem, drawn
from symscope.networks import user_model

if TYPE_CHECKING:
    from symscope.forecasting._answer import Forecast

# the order of equally good ones: the least work first
EASE = ("nothing", "augment", "transformations", "pool", "build in", "architecture", "refit")


@final
@dataclass(frozen=True)
class Advice:
    """One thing to do.

    Attributes:
        kind: One of `EASE`.
        text: What to do, in a sentence.
        accuracy: What the same forecast expects then.
        gain: That, minus what is expected now.
        evidence: How the number was computed.
    """

    kind: str
    text: str
    accuracy: float
    gain: float
    evidence: str


def advice(found: Forecast, tangent: Tangent, expected: float, effort: float) -> tuple[Advice, ...]:
    """What to do about a forecast, what reaches the target first, the least work first among equals.

    Args:
        found: The forecast.
        tangent: Its kernel.
        expected: The accuracy expected now: the forecast's, or that of a pilot training.
        effort: Multiplies the budget.
    """
    problem, target = found.problem, found.target
    rows: list[Advice] = []
    if expected >= target:
        evidence = f"The forecast, {expected:.2f}, is at or above the target, {target:.2f}."
        rows.append(Advice("nothing", "Train as you are: nothing is needed.", expected, 0.0, evidence))
    rows += _augment(found, tangent, expected, effort)
    rows += _transformations(found, expected)
    rows += _pool(found, tangent, expected, effort)
    if problem.action.sample_ndim == 2 and problem.action.name != "nodes":
        rows += _architectures(found, expected, effort)
    rows += _refit(found)
    return ranked(rows, target)


def ranked(rows: list[Advice], target: float) -> tuple[Advice, ...]:
    """What reaches the target first, the least work first among those; then by accuracy.

    >>> a = Advice("build in", "", 1.0, 0.5, ""), Advice("augment", "", 0.95, 0.4, "")
    >>> [one.kind for one in ranked(list(a), 0.9)]
    ['augment', 'build in']
    """
    return tuple(
        sorted(
            rows,
            key=lambda one: (
                one.accuracy < target,
                EASE.index(one.kind) if one.accuracy >= target else -one.accuracy,
            ),
        )
    )


def _affordable(problem: Problem, tangent: Tangent, factor: int, most: int, effort: float) -> int:
    """Items of each class for `factor` times as many points as their orbits have; 0 if not even one."""
    each = len(problem.data.classes) * problem.group.order * factor
    return next((k for k in range(most, 0, -1) if tangent.affordable(k * each, effort)), 0)


def _augment(found: Forecast, tangent: Tangent, expected: float, effort: float) -> list[Advice]:
    one = found.problem.task.words.one
    items = _affordable(found.problem, tangent, 2, found.per_class, effort)
    if items == 0 and not _exact(found):
        return []
    items = items or 1  # an exact copy of what is missing needs no kernel
    draw = drawn(found.problem, items, found.seed)
    accuracy, distance = augmented_accuracy(found.problem, tangent.kernel(found.seed), draw)
    how = (
        "the augmented data holds the missing images themselves"
        if accuracy == 1.0 and distance < 1e-6
        else f"augmented copies are {distance:.0%} away from the missing images, because pixels are "
        "interpolated twice"
    )
    return [
        Advice(
            "augment",
            f"Augment: turn every training image by all elements of {found.problem.group.name}.",
            accuracy,
            accuracy - expected,
            f"The same forecast on the augmented orbits, {_counted(items)} a {one}: {how}.",
        )
    ]


def _counted(count: int, one: str = "item", many: str = "items") -> str:
    return f"one {one}" if count == 1 else f"{count} {many}"


def _exact(found: Forecast) -> bool:
    """Whether every element moves the images exactly."""
    seeds = found.first.images[:2, found.problem.group.identity]
    return len(exact_elements(found.problem, seeds)) == found.problem.group.order


def _transformations(found: Forecast, expected: float) -> list[Advice]:
    better = [one for one in found.densities if one.transformations > found.problem.group.order]
    if not better:
        return []
    best = found.enough if found.enough in better else max(better, key=lambda one: one.accuracy)
    assert best is not None
    reaches = "reaches" if best.accuracy >= found.target else "does not reach"
    text = (
        f"Collect or make more transformations: {best.group}, {best.transformations} instead of "
        f"{found.problem.group.order}."
    )
    one = found.problem.task.words.one
    evidence = (
        f"The same forecast with {best.transformations} transformations and {_counted(best.per_class)} a "
        f"{one} {reaches} the target of {found.target:.2f}."
    )
    return [Advice("transformations", text, best.accuracy, best.accuracy - expected, evidence)]


def _pool(found: Forecast, tangent: Tangent, expected: float, effort: float) -> list[Advice]:
    problem, group = found.problem, found.problem.group
    kernel, one = tangent.kernel(found.seed), problem.task.words.one
    rows = []
    items = _affordable(problem, tangent, group.order, min(found.per_class, 3), effort)
    if items:
        draw = drawn(problem, items, found.seed)
        accuracy = averaged_accuracy(problem, kernel, draw, list(group.elements))
        evidence = f"The group-averaged kernel over really transformed images, {_counted(items)} a {one}."
    else:
        draw = drawn(problem, 1, found.seed)
        accuracy = invariant_accuracy(kernel(draw.flat), problem, draw)
        evidence = "The group-averaged kernel with the action taken to be exact: interpolation is not in it."
    text = f"Pool over the group: average the network's outputs over the {group.order} transformed inputs."
    rows.append(Advice("pool", text, accuracy, accuracy - expected, evidence))
    exact = exact_elements(problem, found.first.images[:2, group.identity])
    several = _affordable(problem, tangent, len(exact), min(found.per_class, 3), effort)
    whole = len(exact) == group.order
    if len(exact) > 1 and (several or whole):
        if several:
            items = several
            draw = drawn(problem, items, found.seed)
            accuracy = averaged_accuracy(problem, kernel, draw, exact)
        how = f"by its averaged kernel, {_counted(items)} a {one}"
        if not several:  # all of it is exact, so this is the pooled kernel of above
            how = f"by the group-averaged kernel of the exact action, one item a {one}"
        which = "all of it" if whole else f"the {len(exact)} elements that move pixels exactly"
        evidence = f"A network that is exactly invariant to {which}, {how}."
        text = f"Build it in: layers equivariant to {group.name} ({which}) and an invariant read-out."
        rows.append(Advice("build in", text, accuracy, accuracy - expected, evidence))
    return rows


def _architectures(found: Forecast, expected: float, effort: float) -> list[Advice]:
    problem, one = found.problem, found.problem.task.words.one
    rows = []
    for name in ("conv-fc", "conv-gap"):
        if name == found.model.name:
            continue
        try:
            model = user_model(name, problem.shape, problem.outputs)
            tangent = tangent_of(model, problem.shape)
            items = _affordable(problem, tangent, 1, min(found.per_class, 3), effort)
            if items == 0:
                continue
            draw = drawn(problem, items, found.seed)
            there = expectation(tangent.kernel(found.seed)(draw.flat), draw, problem.group)
        except InputError:  # a network that does not suit these images is no advice
            continue
        accuracy = float(there.accuracy.mean())
        if accuracy > expected:
            evidence = f"The same forecast for {name}, {tangent.name}, {_counted(items)} a {one}."
            text = f"Change the architecture to one like {name}."
            rows.append(Advice("architecture", text, accuracy, accuracy - expected, evidence))
    return rows


def _refit(found: Forecast) -> list[Advice]:
    """Regression with the kernel after training, where it reads more than the trained network itself."""
    there = found.outcome
    if there is None or bool(there.refit_accuracy.isnan().all()):
        return []
    both = ~(there.refit_accuracy.isnan() | there.class_accuracy.isnan())
    accuracy, trained = (
        float(values[both].mean()) for values in (there.refit_accuracy, there.class_accuracy)
    )
    if accuracy <= trained:
        return []
    words = found.problem.task.words
    evidence = (
        f"Measured on {_counted(int(both.sum()), words.one, words.many)}: the trained networks get "
        f"{trained:.2f}, regression with their kernels {accuracy:.2f}."
    )
    text = "Refit: after training, replace the network's output by regression with its own tangent kernel."
    return [Advice("refit", text, accuracy, accuracy - trained, evidence)]
