"""The one call: will a network generalise to transformations it has not seen, and what to do about it?"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, final

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from symscope.data import Action, LabelledData, as_samples
from symscope.errors import InputError, nearest
from symscope.forecasting._advice import Remedies, remedy_rows, trial_count
from symscope.forecasting._cautions import label_cautions, layer_cautions, symmetry_cautions
from symscope.forecasting._check import training_check
from symscope.forecasting._coverage import Cases
from symscope.forecasting._designs import interleaved_designs, true_designs
from symscope.forecasting._equivariance import equivariance, is_invariant
from symscope.forecasting._full_kernel import full_kernel_prediction
from symscope.forecasting._kernel_choice import (
    TangentKernel,
    default_per_class,
    kernel_seconds,
    tangent_kernel,
)
from symscope.forecasting._kernel_prediction import ResamplePrediction, class_pairs, resample_prediction
from symscope.forecasting._options import KERNEL_SHARE, ForecastOptions, TrainingOptions, with_settings
from symscope.forecasting._pilot import LEARNED, PilotPlan, pilot_forecast, pilot_plan, smallest_budget
from symscope.forecasting._price_list import Advice, rank_advice
from symscope.forecasting._projected_kernel import projected_prediction
from symscope.forecasting._question import Question, as_question
from symscope.forecasting._resample import draw_resample
from symscope.forecasting._result import Forecast, KernelPrediction
from symscope.forecasting._sample_split import ForecastSamples, forecast_samples, samples_text
from symscope.forecasting._trained_answer import DesignTrainer, ScoreTable
from symscope.networks import UserModel, user_model
from symscope.numerics import Progress, check_finite, explained, partial_progress
from symscope.training import StepPlan

FORWARD = 1 / 3  # a forward pass alone over one with gradients

CONSTANT = 1e-12  # spread of a kernel, relative to its size, that is rounding


@final
class ForecastStopped(KeyboardInterrupt):
    """Ctrl-C during a forecast of which something is known already.

    Attributes:
        result: What was finished, with a note that it was stopped.
    """

    def __init__(self, result: Forecast) -> None:
        super().__init__(result.notes[-1])
        self.result = result


@explained
def forecast(
    model: str | nn.Module | Callable[..., nn.Module],
    data: Any,
    action: Action | str = "C8 rotation",
    *,
    task: str = "auto",
    seen: Cases | None = None,
    missing: Cases | None = None,
    elements: Shaped[Tensor, "m"] | Sequence[str] | None = None,
    new: Any = None,
    target: float = 0.9,
    train: bool = False,
    training: TrainingOptions | None = None,
    class_names: Sequence[str] | None = None,
    weights: str | os.PathLike[str] | None = None,
    name: str | None = None,
    options: ForecastOptions | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Forecast:
    """Before training: will this network generalise to transformations of a class that it has not seen?

    The training data holds labelled samples in some transformations of each class, its coverage; by default
    each class in turn lacks the identity. Asked are all transformations that are missing, of the same samples
    and of new ones. Short trainings of the network, as many as the budget allows, are extrapolated to a whole
    one; beside it stands what the architecture alone predicts, by regression with its tangent kernel.
    Numbers to predict are standardised and treated in the same way, with up to five groups of samples in the
    place of classes.

    Args:
        model: "mlp", "conv-fc", "conv-gap", "vit"; a function that returns a module; or a module.
        data: `(X, y)` of arrays or tensors, a map-style torch dataset of pairs, `LabelledData`,
            `MeasuredData` (numbers that no transformation changes), or what `--data` takes; see
            `data.as_samples`.
        action: An `Action`, or a group and how it acts: "C8 rotation", "D4", "C14xC14 shift", "flip".
        task: "classification"; "regression", where y are numbers to predict; or "auto": whole numbers and
            words are classes.
        seen: What the training data holds, in words, "cats: 0°", "3,5: ±45°", "upright", "once"; or for
            each class its elements, `{3: [0, 1]}`. Classes that are not named hold every element.
        missing: What it lacks, in the same words.
        elements: Element (or angle) in which the data holds each sample, where it says so.
        new: New samples to be asked about, in any form that data may have; by default a fifth of the data
            is kept apart.
        target: Accuracy, or share of the variation explained, that is good enough.
        train: Whether to check the forecast by whole trainings.
        training: The training that is forecast: steps, batch, optimiser.
        class_names: Names of classes 0, 1, ... in tables and pictures; if not given, word labels or numbers.
        weights: File with a saved state dict to start from.
        name: Name of the network in reports.
        options: How the forecast is computed: budget, method, kernel, seed, device and more.
        progress: Called as `progress(words, done, total)`: before each part with a total of 0, and while
            networks train every few steps.
        **settings: Single fields of the options or of the training, by name: `budget="5m"`, `steps=500`.

    Raises:
        InputError: An argument that cannot be used, in one sentence; or a budget that is too small for this
            network, with the one that would do.
        ForecastStopped: Ctrl-C after something is known: a KeyboardInterrupt that carries it.

    >>> from symscope.data import mnist_sample
    >>> digits = mnist_sample().of_classes(0, 1, 4).per_class(20, seed=0)
    >>> result = forecast("mlp", digits, "C4 rotation", options=ForecastOptions(method="kernel", per_class=2))
    >>> result.method, result.pilot is None
    ('kernel', True)
    """
    start = time.perf_counter()
    options, training = with_settings(options or ForecastOptions(), training or TrainingOptions(), settings)
    given, words = as_samples(data, task)
    fresh = None if new is None else _new_samples(new, class_names or words)
    question = as_question(
        given,
        action,
        options.standardise,
        class_names or words,
        seen,
        missing,
        target,
        elements,
        fresh,
        options.seed,
    )
    network = user_model(model, question.shape, question.outputs, name=name, weights=weights)
    question.task.check(question, network)
    result: Forecast | None = None
    part = ""

    def say(what: str, done: int, total: int) -> None:
        nonlocal part
        part = part if total else what
        if progress is not None:
            progress(what, done, total)

    try:
        for result in _growing_forecast(question, network, options, training, train, say):  # noqa: B007
            pass
    except KeyboardInterrupt as stop:
        if result is None or (result.prediction is None and result.pilot is None):
            raise
        note = f"Stopped ({part}): what was finished by then is here, the rest is left out."
        seconds = time.perf_counter() - start
        raise ForecastStopped(replace(result, notes=(*result.notes, note), seconds=seconds)) from stop
    assert result is not None
    return replace(result, seconds=time.perf_counter() - start)


def _growing_forecast(
    question: Question,
    network: UserModel,
    options: ForecastOptions,
    training: TrainingOptions,
    train: bool,
    say: Progress,
) -> Iterator[Forecast]:
    """The forecast as more and more becomes known, the whole of it last."""
    say("transforming samples", 0, 0)
    samples = forecast_samples(
        question, options.seed, options.samples, seconds=KERNEL_SHARE * options.seconds, progress=say
    )
    trainer = DesignTrainer(network, samples, torch.device(options.device))
    designs = interleaved_designs(samples, question.group)
    module = network.builder(options.seed)
    plan = training.plan(module, int(designs[0].seen.sum()))
    images = question.data.take(samples.known.indices[:8]).x
    needless: tuple[str, ...] = ()
    pilots = None
    if options.method != "kernel":
        needless = _needless_invariance(module, network, question, samples, images)
        say("timing a step of training", 0, 0)
        pilots = _pilot_plan(question, trainer, plan, options, not needless)
    result = Forecast(
        question,
        network,
        options,
        samples.per_class(),
        plan,
        equivariance=equivariance(module, network, question, images),
        cautions=layer_cautions(module, network, question, images),
        notes=(*needless, *samples.notes),
    )
    if options.method != "pilot":
        result = _with_kernel(result, trainer, say)
    if result.prediction is None and pilots is None:
        raise InputError(_too_small(question, trainer, plan, options))
    yield result
    if pilots is not None:
        for grown in _with_pilots(result, trainer, pilots, not needless, say):
            result = grown
            yield result
    elif options.method != "kernel":
        result = replace(result, notes=(*result.notes, _too_small(question, trainer, plan, options)))
    if train:
        say("whole trainings", 0, 0)
        check, _ = training_check(trainer, question, training, plan, options.seed, say)
        result = replace(result, check=check)
    yield result


def _needless_invariance(
    module: nn.Module,
    network: UserModel,
    question: Question,
    samples: ForecastSamples,
    images: Float[Tensor, "m *s"],
) -> tuple[str, ...]:
    """Why remedies that make the network invariant are left out of the price list, if they are."""
    if is_invariant(module, network, question, images):
        return (
            f"{network.name} is invariant under {question.group.name} already: augmenting, averaging and "
            "building the symmetry in change nothing and are left out of the price list.",
        )
    return label_cautions(samples, question)


def _with_pilots(
    result: Forecast, trainer: DesignTrainer, pilots: PilotPlan, invariance: bool, say: Progress
) -> Iterator[Forecast]:
    """The forecast with what pilot trainings predict, then with more and more of the price list."""
    question, plan, seed = result.question, result.training, result.options.seed
    trials = pilots.remedies * pilots.lengths[0] * pilots.designs
    say(f"pilot trainings, about {pilots.seconds:.0f} s with remedies", 0, 0)
    counted = partial_progress(say, 0, pilots.steps + trials)
    pilot = pilot_forecast(
        trainer, question.group, pilots, plan, seed, counted, _kernel_regression(result.prediction)
    )
    result = replace(result, pilot=pilot)
    if pilot.fitted < LEARNED:
        whole = pilots.lengths[1] >= pilots.full
        what = "train for more steps, with another learning rate, or another network"
        note = (
            f"After {pilots.lengths[1]:,} of {pilots.full:,} steps the network has not learned what it "
            f"was shown ({pilot.fitted:.0%}): "
            + (f"{what}." if whole else "a larger budget makes the forecast more certain.")
        )
        result = replace(result, notes=(*result.notes, note))
    yield result
    say("remedies", 0, 0)
    counted = partial_progress(say, pilots.steps, pilots.steps + trials)
    rows: list[Advice] = []
    for found in remedy_rows(Remedies(question, trainer, pilot, plan, seed, invariance), counted):
        rows += found
        single = [one for one in rows if one.kind != "combined"]
        result = replace(
            result,
            advice=rank_advice(single, question.target),
            combinations=tuple(one for one in rows if one.kind == "combined"),
        )
        yield result


def _kernel_regression(prediction: KernelPrediction | None) -> ScoreTable | None:
    """Accuracies on new samples of regression on all samples with the infinite-width kernel, if known."""
    if prediction is None or prediction.full is None or not prediction.about_new:
        return None
    return prediction.full.new if prediction.full.infinite else None


def _new_samples(new: Any, names: Sequence[str] | None) -> LabelledData:
    """New samples with the class numbers of the data, by name where classes have names."""
    fresh, words = as_samples(new, "classification")
    assert isinstance(fresh, LabelledData)
    if words is None or names is None:
        return fresh
    foreign = sorted(set(words) - set(names))
    if foreign:
        raise InputError(f"new: class {foreign[0]!r} is not in the data; {nearest(foreign[0], list(names))}")
    places = torch.tensor([list(names).index(word) for word in words])
    return replace(fresh, labels=places[fresh.labels])


def _pilot_plan(
    question: Question, trainer: DesignTrainer, plan: StepPlan, options: ForecastOptions, invariance: bool
) -> PilotPlan | None:
    """The pilot trainings that the budget allows, with remedies if they fit, else without."""
    samples, group = trainer.samples, question.group
    designs = interleaved_designs(samples, group)
    seconds = trainer.step_seconds(designs[0], plan)
    share = 1.0 if options.method == "pilot" else 1 - KERNEL_SHARE
    replaced = len(true_designs(samples, group))
    arguments = (seconds, plan.steps, len(designs), replaced, share * options.seconds)
    asked = FORWARD * trainer.asked_points(designs[0]) / plan.batch
    with_remedies = pilot_plan(*arguments, asked, trial_count(question, trainer, invariance))
    return with_remedies or pilot_plan(*arguments, asked)


def _too_small(question: Question, trainer: DesignTrainer, plan: StepPlan, options: ForecastOptions) -> str:
    """What a pilot training would take, in words."""
    designs = interleaved_designs(trainer.samples, question.group)
    seconds = trainer.step_seconds(designs[0], plan)
    asked = FORWARD * trainer.asked_points(designs[0]) / plan.batch
    share = 1.0 if options.method == "pilot" else 1 - KERNEL_SHARE
    least = smallest_budget(seconds, len(designs), asked) / share
    return (
        f"{trainer.model.name}: a step of training takes {seconds:.2g} s, so that pilot trainings take "
        f"{least:.2g} s at least, got a budget of {options.seconds:.2g} s; give {least:.2g} s or more, fewer "
        "samples (options.samples, --samples) or smaller batches."
    )


def _with_kernel(result: Forecast, trainer: DesignTrainer, say: Progress) -> Forecast:
    """The forecast with what the architecture alone predicts, if that is affordable."""
    question, network, options = result.question, result.model, result.options
    classes, order = len(question.data.classes), question.group.order
    fewest = (options.per_class or 2) * classes * order
    tangent = tangent_kernel(network, question.shape, options.kernel, fewest, options.effort)
    if options.per_class is None:
        count = default_per_class(tangent, classes, order, question.smallest_class, options.effort)
        options = replace(options, per_class=count)
    assert options.per_class is not None
    estimated = kernel_seconds(tangent, network, question, options.per_class * classes * order)
    if options.method == "auto" and estimated * options.resamples > 2 * KERNEL_SHARE * options.seconds:
        if estimated > KERNEL_SHARE * options.seconds:
            note = (
                f"What the architecture alone predicts was left out: its kernel would take about "
                f"{estimated:.0f} s for {samples_text(options.per_class)} of each {question.task.words.one}."
            )
            return replace(result, notes=(*result.notes, note))
        options = replace(options, resamples=1)
    prediction = _architecture_prediction(question, network, tangent, options, say)
    say("kernel regression on all samples", 0, 0)
    allowed = KERNEL_SHARE * options.seconds / 2  # estimates are rough
    arguments = (tangent, question, trainer.samples, options.ridge, allowed, trainer.device, say)
    if tangent.kind == "infinite":
        whole = full_kernel_prediction(*arguments)
    else:
        whole = projected_prediction(*arguments, seed=options.seed, more_than=options.per_class or 0)
    if isinstance(whole, str):
        one = question.task.words.one
        few = samples_text(options.per_class or 0)
        fewer = f"The architecture alone is asked with {few} of each {one}: {whole}."
        result = replace(result, notes=(*result.notes, fewer))
    else:
        prediction = replace(prediction, full=whole)
    cautions = symmetry_cautions(prediction.invariance_error, prediction.resample, question.group)
    return replace(result, options=options, prediction=prediction, cautions=(*cautions, *result.cautions))


def _architecture_prediction(
    question: Question,
    network: UserModel,
    tangent: TangentKernel,
    options: ForecastOptions,
    say: Progress,
) -> KernelPrediction:
    """Everything that needs no training."""
    group, seed, count = question.group, options.seed, options.resamples
    assert options.per_class is not None
    predictions: list[ResamplePrediction] = []
    for k in reversed(range(count)):  # the first resample last: its matrix is used once more
        resample = draw_resample(question, options.per_class, seed + k)
        takes = tangent.duration(len(resample.flat))
        say(f"{tangent.name}, resample {count - k} of {count}{takes}", 0, 0)
        gram = tangent.kernel(seed + k)(resample.flat.to(options.device)).cpu()
        _check_gram(gram, network)
        masks = None if question.coverage is None else question.missing_masks(resample.indices)
        predictions.insert(0, resample_prediction(gram, resample, group, masks, options.ridge))
    say(f"{question.task.words.many} two by two", 0, 0)
    pairs = class_pairs(gram, resample, group, predictions[0].ridge)
    confusions = [one.confusion for one in predictions if one.confusion is not None]
    return KernelPrediction(
        kernel=tangent.name,
        kernel_reason=tangent.reason,
        class_accuracy=torch.stack([one.accuracy for one in predictions]),
        class_spread=torch.stack([one.spread for one in predictions]),
        class_error=torch.stack([one.error for one in predictions]).mean(0),
        confusion=torch.stack(confusions).mean(0) if confusions else None,
        table=torch.stack([one.table for one in predictions]).mean(0),
        invariance_error=sum(one.invariance_error for one in predictions) / count,
        pairs=pairs,
        notes=tuple(dict.fromkeys(note for one in predictions for note in one.notes)),
        resample=resample,
        resample_prediction=predictions[0],
    )


def _check_gram(gram: Float[Tensor, "p p"], network: UserModel) -> None:
    """Refuses a kernel that is not finite, 0 or constant, from which nothing can be predicted."""
    check_finite(f"the kernel of {network.name}", gram)
    if not bool(gram.any()):
        raise InputError(
            f"{network.name}: expected outputs that change with the weights, got a tangent kernel of 0: no "
            "training would change them; look for a factor of 0, a detach() or a dead activation."
        )
    if float(gram.max() - gram.min()) <= CONSTANT * float(gram.abs().max()):
        raise InputError(
            f"{network.name}: expected outputs that change with the input, got a tangent kernel with one "
            "value for all points: the network's output does not depend on its input, so all samples are "
            "alike to it; look for an input that is not used, a factor of 0 or a dead activation."
        )
