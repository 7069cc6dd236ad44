"""What to do, ranked, each with a number from the same forecast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from symscope.errors import InputError
from symscope.forecasting._kernel_choice import TangentKernel, tangent_kernel
from symscope.forecasting._kernel_prediction import resample_prediction
from symscope.forecasting._remedies import (
    augmented_accuracy,
    averaged_prediction,
    exact_elements,
    invariant_accuracy,
)
from symscope.forecasting._resample import draw_resample
from symscope.networks import user_model

if TYPE_CHECKING:
    from symscope.forecasting._result import Forecast

# the order of equally good ones: the least work first
EASE = ("nothing", "augment", "transformations", "pool", "build in", "architecture", "refit")


@final
@dataclass(frozen=True)
class Advice:
    """One thing to do.

    Attributes:
        kind: One of `EASE`.
        text: What to do, in a sentence.
        accuracy: Held-out accuracy that the same forecast predicts then.
        gain: That accuracy minus the one predicted now.
        evidence: How the number was computed.
    """

    kind: str
    text: str
    accuracy: float
    gain: float
    evidence: str


def advice(result: Forecast, tangent: TangentKernel) -> tuple[Advice, ...]:
    """What to do about a forecast, what reaches the target first, the least work first among equals.

    Args:
        result: The forecast; gains are over its accuracy.
        tangent: Kernel of its network.
    """
    question, accuracy, target = result.question, result.accuracy, result.question.target
    rows: list[Advice] = []
    if accuracy >= target:
        evidence = f"The forecast, {accuracy:.2f}, is at or above the target, {target:.2f}."
        rows.append(Advice("nothing", "Train as you are: nothing is needed.", accuracy, 0.0, evidence))
    rows += _augment(result, tangent)
    rows += _transformations(result)
    rows += _pool(result, tangent)
    if question.action.sample_ndim == 2 and question.action.name != "nodes":
        rows += _architectures(result)
    rows += _refit(result)
    return rank_advice(rows, target)


def rank_advice(rows: list[Advice], target: float) -> tuple[Advice, ...]:
    """What reaches the target first, the least work first among those; then by accuracy.

    >>> a = Advice("build in", "", 1.0, 0.5, ""), Advice("augment", "", 0.95, 0.4, "")
    >>> [one.kind for one in rank_advice(list(a), 0.9)]
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


def _affordable(result: Forecast, tangent: TangentKernel, factor: int, most: int = 3) -> int:
    """Samples of each class for `factor` times as many points as their orbits have; 0 if not even one."""
    question, options = result.question, result.options
    assert options.per_class is not None
    points = len(question.data.classes) * question.group.order * factor
    return tangent.affordable_samples(points, min(options.per_class, most), options.effort)


def _counted(count: int, one: str = "sample", many: str = "samples") -> str:
    return f"one {one}" if count == 1 else f"{count} {many}"


def _exact_elements(result: Forecast) -> tuple[int, ...]:
    """The elements that move the images exactly."""
    question = result.question
    return exact_elements(question, result.prediction.resample.images[:2, question.group.identity])


def _augment(result: Forecast, tangent: TangentKernel) -> list[Advice]:
    question, seed = result.question, result.options.seed
    count = _affordable(result, tangent, 2, most=10**9)
    if count == 0 and len(_exact_elements(result)) < question.group.order:
        return []
    count = count or 1  # an exact copy of what is missing needs no kernel
    resample = draw_resample(question, count, seed)
    accuracy, distance = augmented_accuracy(question, tangent.kernel(seed), resample)
    how = (
        "the augmented data holds the missing samples themselves"
        if accuracy == 1.0 and distance < 1e-6
        else f"augmented copies are {distance:.0%} away from the missing samples, because they are "
        "interpolated twice"
    )
    text = f"Augment: apply all elements of {question.group.name} to every training sample."
    per = f"{_counted(count)} per {question.task.words.one}"
    evidence = f"The same forecast on the augmented orbits, {per}: {how}."
    return [Advice("augment", text, accuracy, accuracy - result.accuracy, evidence)]


def _transformations(result: Forecast) -> list[Advice]:
    order, target, sufficient = result.question.group.order, result.question.target, result.sufficient_group
    better = [one for one in result.prediction.group_sizes if one.transformations > order]
    if not better:
        return []
    best = sufficient if sufficient in better else max(better, key=lambda one: one.accuracy)
    assert best is not None
    reaches = "reaches" if best.accuracy >= target else "does not reach"
    text = f"Use more transformations: {best.group}, {best.transformations} instead of {order}."
    evidence = (
        f"The same forecast with {best.transformations} transformations and {_counted(best.per_class)} per "
        f"{result.question.task.words.one} {reaches} the target of {target:.2f}."
    )
    return [Advice("transformations", text, best.accuracy, best.accuracy - result.accuracy, evidence)]


def _pool(result: Forecast, tangent: TangentKernel) -> list[Advice]:
    question, group, seed = result.question, result.question.group, result.options.seed
    kernel, one = tangent.kernel(seed), question.task.words.one

    def averaged_accuracy(count: int, elements: Sequence[int]) -> float:
        resample = draw_resample(question, count, seed)
        return float(averaged_prediction(question, kernel, resample, elements).accuracy.mean())

    rows = []
    count = _affordable(result, tangent, group.order)
    if count:
        accuracy = averaged_accuracy(count, list(group.elements))
        evidence = f"The group-averaged kernel over really transformed samples, {_counted(count)} per {one}."
    else:
        resample = draw_resample(question, 1, seed)
        accuracy = invariant_accuracy(kernel(resample.flat), question, resample)
        evidence = "The group-averaged kernel for an exact action: interpolation is not included."
    text = f"Pool over the group: average the network's outputs over the {group.order} transformed inputs."
    rows.append(Advice("pool", text, accuracy, accuracy - result.accuracy, evidence))
    exact = _exact_elements(result)
    several = _affordable(result, tangent, len(exact))
    whole = len(exact) == group.order
    if len(exact) > 1 and (several or whole):
        how = f"by the group-averaged kernel of the exact action, one sample per {one}"
        if several:  # otherwise all of it is exact, so this is the pooled kernel of above
            accuracy = averaged_accuracy(several, exact)
            how = f"by its averaged kernel, {_counted(several)} per {one}"
        which = "all of it" if whole else f"the {len(exact)} elements that act exactly"
        evidence = f"A network that is exactly invariant to {which}, {how}."
        text = f"Build it in: layers equivariant to {group.name} ({which}) and an invariant read-out."
        rows.append(Advice("build in", text, accuracy, accuracy - result.accuracy, evidence))
    return rows


def _architectures(result: Forecast) -> list[Advice]:
    question, seed = result.question, result.options.seed
    rows = []
    for name in ("conv-fc", "conv-gap"):
        if name == result.model.name:
            continue
        try:
            model = user_model(name, question.shape, question.outputs)
            tangent = tangent_kernel(model, question.shape)
            count = _affordable(result, tangent, 1)
            if count == 0:
                continue
            resample = draw_resample(question, count, seed)
            there = resample_prediction(tangent.kernel(seed)(resample.flat), resample, question.group)
        except InputError:  # a network that does not suit these images is no advice
            continue
        accuracy = float(there.accuracy.mean())
        if accuracy > result.accuracy:
            per = f"{_counted(count)} per {question.task.words.one}"
            evidence = f"The same forecast for {name}, {tangent.name}, {per}."
            text = f"Change the architecture to one like {name}."
            rows.append(Advice("architecture", text, accuracy, accuracy - result.accuracy, evidence))
    return rows


def _refit(result: Forecast) -> list[Advice]:
    """Regression with the kernel after training, where it generalises better than the trained network."""
    there = result.check
    if there is None or bool(there.refit_accuracy.isnan().all()):
        return []
    both = ~(there.refit_accuracy.isnan() | there.class_accuracy.isnan())
    accuracy, trained = (
        float(values[both].mean()) for values in (there.refit_accuracy, there.class_accuracy)
    )
    if accuracy <= trained:
        return []
    words = result.question.task.words
    evidence = (
        f"Measured on {_counted(int(both.sum()), words.one, words.many)}: the trained networks reach "
        f"{trained:.2f}, regression with their kernels {accuracy:.2f}."
    )
    text = "Refit: after training, replace the network's output by regression with its own tangent kernel."
    return [Advice("refit", text, accuracy, accuracy - trained, evidence)]
