"""Regression with a finite network's own tangent kernel, on as many samples as the time allows.

The kernel's matrix is never made: gradients are projected to a few thousand numbers, whose inner products are
the kernel's entries on average.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from symscope.errors import TooLargeError
from symscope.forecasting._designs import true_designs
from symscope.forecasting._full_kernel import MEMORY, FullKernelPrediction, class_targets, regression_tables
from symscope.forecasting._kernel_choice import TangentKernel
from symscope.forecasting._question import Question
from symscope.forecasting._sample_split import ForecastSamples, OrbitSamples, fewer_samples, samples_text
from symscope.kernels import projected_gradients
from symscope.networks import arrange_inputs
from symscope.numerics import Progress, byte_text, explained, partial_progress
from symscope.spectral import coverage_cost, coverage_regression

FEATURES = 2048  # numbers that stand for the gradients of one point
NOISE = 1e-3  # of the mean diagonal: a ridge that what the projection adds to entries does not get through
FEATURE_SHARE = 0.25  # of the memory, for the numbers of all points
TIMED = 4  # samples whose gradients are timed


@explained
def projected_prediction(
    tangent: TangentKernel,
    question: Question,
    samples: ForecastSamples,
    ridge: float,
    seconds: float,
    device: torch.device,
    progress: Progress | None = None,
    measured: Callable[[str, Callable[[], float]], float] = lambda what, measure: measure(),
    *,
    seed: int = 0,
    more_than: int = 0,
    memory: int = MEMORY,
) -> FullKernelPrediction | str:
    """Regression on as many samples as the time allows; or the reason why those are too few.

    Args:
        tangent: Kernel of the network, of finite width.
        question: Data and action.
        samples: Known and new samples, and their coverage.
        ridge: Number added to the kernel's diagonal.
        seconds: Time it may take, by the estimate.
        device: Device to compute on.
        progress: Called as `progress(words, done, total)`.
        measured: Gives a time that a function measures, as `Trainings.measured` does.
        seed: Seed of the network's weights and of the projection.
        more_than: Samples of a class that are known from elsewhere: with as few it is not done.
        memory: Bytes it may take.
    """
    start, order = time.perf_counter(), question.group.order
    network = tangent.kernel(seed)
    module = network.module.to(device, torch.float32)  # type: ignore[attr-defined]

    def features(orbit: OrbitSamples, told: Progress | None = None) -> Float64[Tensor, "m n f"]:
        points = arrange_inputs(orbit.points.flatten(0, 1), network.layout).to(device)  # type: ignore[attr-defined]
        rows = projected_gradients(module, points, seed=seed, count=FEATURES, memory=memory, progress=told)
        return rows.double().unflatten(0, (-1, order))

    tried = fewer_samples(samples, 1, 0)
    tried = replace(tried, known=tried.known.take(torch.arange(min(TIMED, len(tried.known)))))
    few = features(tried.known)

    def point_seconds() -> float:
        timed = time.perf_counter()
        features(tried.known)
        return (time.perf_counter() - timed) / (len(few) * order)

    each = measured("projected gradients", point_seconds)
    most = samples.per_class()[1]
    fits = int(FEATURE_SHARE * memory) // (8 * FEATURES * order * samples.classes)
    if fits <= more_than:
        return f"gradients of more do not fit {byte_text(memory)}"

    def takes(count: int) -> float:
        some = fewer_samples(samples, count, count)
        solving = measured(
            f"kernel regression, {count} of each",
            partial(_solving_seconds, some, few, question, memory, seconds),
        )
        return each * (len(some.known) + _new_count(some)) * order + solving

    count = min(most, fits)
    while (needed := takes(count)) > seconds and count > max(1, more_than):
        count = max(1, min(count - 1, int(count * seconds / needed)))
    if count <= more_than or needed > seconds:
        one = question.task.words.one
        return f"about {needed:.0f} s for {samples_text(count)} of each {one}, by projected gradients"
    some = fewer_samples(samples, count, count)
    first, total = len(some.known) * order, (len(some.known) + _new_count(some)) * order
    known = features(some.known, partial_progress(progress, 0, total))
    new = None if some.new is None else features(some.new, partial_progress(progress, first, total))
    result = coverage_regression(
        None,
        known,
        class_targets(some),
        _seen(some, question),
        question.group,
        ridge + NOISE * float(known.square().sum(2).mean()),
        new=new,
        memory=memory,
        device=device,
    )
    tables = regression_tables(some, question.group, result)
    return FullKernelPrediction(
        *tables, some.per_class(), result.notes, time.perf_counter() - start, count >= most, False
    )


def _seen(samples: ForecastSamples, question: Question) -> Bool[Tensor, "sets m n"]:
    """What the training data of each design holds."""
    return torch.stack([design.seen for design in true_designs(samples, question.group)])


def _new_count(samples: ForecastSamples) -> int:
    return 0 if samples.new is None else len(samples.new)


def _solving_seconds(
    samples: ForecastSamples,
    few: Float64[Tensor, "m n f"],
    question: Question,
    memory: int,
    seconds: float,
) -> float:
    """Seconds of regression, or twice what there is where it does not fit the memory."""
    outputs, fresh = class_targets(samples).shape[1], _new_count(samples)
    seen, group = _seen(samples, question), question.group
    try:
        return coverage_cost(
            None, few, seen, group, outputs=outputs, new_samples=fresh, memory=memory
        ).seconds
    except TooLargeError:
        return 2 * seconds
