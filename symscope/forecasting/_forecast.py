"""The one call: will a network generalise to transformations it has not seen, and what to do about it?"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any, final

import torch
from jaxtyping import Shaped
from torch import Tensor, nn

from symscope.data import Action, LabelledData, MeasuredData, TargetAction, as_samples
from symscope.errors import BudgetError, InputError, nearest
from symscope.forecasting._advice import Remedies, remedy_rows
from symscope.forecasting._architecture_forecast import with_kernel, with_regression
from symscope.forecasting._budgeted_pilots import budgeted_pilots, step_times, too_small_text
from symscope.forecasting._cautions import layer_cautions, target_cautions
from symscope.forecasting._check import check_trainings, training_check
from symscope.forecasting._coverage import Cases
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._designs import interleaved_designs
from symscope.forecasting._equivariance import equivariance
from symscope.forecasting._first_estimate import first_estimate
from symscope.forecasting._options import (
    KERNEL_SHARE,
    SHORT_KERNEL_SHARE,
    ForecastOptions,
    TrainingOptions,
    with_settings,
)
from symscope.forecasting._pilot import PilotStopped, pilot_forecast, pilot_notes, pilot_trainings
from symscope.forecasting._pilot_plan import PilotPlan
from symscope.forecasting._price_list import Advice, rank_advice, rank_combinations
from symscope.forecasting._question import Question, as_question
from symscope.forecasting._regression import Regression
from symscope.forecasting._remedy_trials import remedy_trials, trial_counts
from symscope.forecasting._result import Forecast
from symscope.forecasting._sample_split import forecast_samples
from symscope.forecasting._suited_remedies import SuitedRemedies, suited_remedies
from symscope.forecasting._training_price import TrainingPrice, training_price
from symscope.forecasting._training_task import Training, tensor_digest
from symscope.forecasting._trainings import Trainings, open_trainings
from symscope.networks import UserModel, user_model
from symscope.numerics import Progress, byte_count, explained, partial_progress

ROUGHLY = 0.7  # of the time that is left, for a kernel where pilots do not fit: estimates are rough


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
    target_action: TargetAction | None = None,
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
    place of classes. Where they change with the sample, `f(g x) = rho(g) y`, say how: `target_action`.

    Args:
        model: "mlp", "conv-fc", "conv-gap", "vit"; a function that returns a module; or a module.
        data: `(X, y)` of arrays or tensors, a map-style torch dataset of pairs, `LabelledData`,
            `MeasuredData` (numbers to predict), or what `--data` takes; see `data.as_samples`.
        action: An `Action`, or a group and how it acts: "C8 rotation", "D4", "C14xC14 shift", "flip".
        task: "classification"; "regression", where y are numbers to predict; or "auto": whole numbers and
            words are classes.
        target_action: How transformations change numbers to predict: "same"; "vector" for vectors in the
            plane (x to the right, y up); "image" for maps `[n, h, w]` or `[n, c, h, w]` that move as the
            samples do; "nodes" for numbers `[n, nodes]` or `[n, nodes, d]` of each node that is permuted; an
            `Action`, a `Representation`, or a function `(g, y) -> g y`. Must be said for vectors of two or
            three numbers, for maps of numbers, and for as many numbers as nodes.
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
    fresh = None if new is None else _new_samples(new, given, class_names or words)
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
        target_action,
    )
    network = user_model(
        model,
        question.shape,
        question.outputs,
        name=name,
        weights=weights,
        maps=len(question.target_shape) > 1,
    )
    question.task.check(question, network)
    result: Forecast | None = None
    part = ""

    def say(what: str, done: int, total: int) -> None:
        nonlocal part
        part = part if total else what
        if progress is not None:
            progress(what, done, total)

    try:
        with open_trainings(options.resume, options.workers, options.dask) as trainings:
            trainings.begin(_timed_for(question, network, options, training))
            growing = _growing_forecast(question, network, options, training, train, say, trainings)
            for result in growing:  # noqa: B007
                pass
    except KeyboardInterrupt as stop:
        if result is None or (result.prediction is None and result.pilot is None):
            raise
        note = f"Stopped ({part}): what was finished by then is here, the rest is left out."
        if options.resume is not None:
            note += f" Ask the same with resume {str(options.resume)!r} to go on."
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
    trainings: Trainings,
) -> Iterator[Forecast]:
    """The forecast as more and more becomes known, the whole of it last."""
    began = time.perf_counter()
    estimate = first_estimate(question, network, options, training, trainings)
    say("transforming samples", 0, 0)
    samples = forecast_samples(
        question,
        options.seed,
        options.samples,
        options.sample_memory,
        seconds=KERNEL_SHARE * options.seconds,
        progress=say,
        measured=trainings.measured,
    )
    trainer = whole_asked = DesignTrainer(network, samples, torch.device(options.device))
    designs = interleaved_designs(samples, question.group)
    module = network.builder(options.seed)
    plan = training.plan(module, int(designs[0].seen.sum()))
    images = question.data.take(samples.known.indices[: estimate.measured_samples]).x
    suited = suited_remedies(module, network, question, samples, images, designs[0], options.seconds)
    result = Forecast(
        question,
        network,
        options,
        samples.per_class(),
        plan,
        equivariance=equivariance(module, network, question, images),
        cautions=(
            *target_cautions(module, network, question, images),
            *layer_cautions(module, network, question, images),
        ),
        notes=(*question.group_notes, *suited.notes, *samples.notes),
        variance=samples.variance,
    )
    share = KERNEL_SHARE
    if options.method != "kernel":
        say("timing a step of training", 0, 0)
        step, _ = step_times(trainer, plan, question, trainings)
        if options.seconds < step * plan.steps * len(designs):
            share = SHORT_KERNEL_SHARE
    begun, regression = result, None
    if options.method != "pilot":
        result, regression = with_kernel(begun, trainer, say, trainings, share * options.seconds)
    if regression is not None and (trainings.workers is None or options.method == "kernel"):
        result, regression = _regressed(result, regression, say, trainings), None
    pilots, spent, spare = None, 0.0, 0.0
    if options.method != "kernel":
        spent = trainings.measured("seconds before pilots", lambda: time.perf_counter() - began)
        trainer, pilots, spare = budgeted_pilots(
            question, trainer, plan, options, suited.augment, trainings, spent
        )
    if result.prediction is None and pilots is None and options.method == "auto":
        rest = max(0.0, options.seconds - spent)
        result, regression = with_kernel(begun, trainer, say, trainings, ROUGHLY * rest)
    if regression is not None and pilots is None:
        result = _regressed(result, regression, say, trainings)
    if result.prediction is None and pilots is None:
        raise BudgetError(too_small_text(question, trainer, plan, options, trainings, spent))
    yield result
    if pilots is not None:
        later = check_trainings(whole_asked, question, training, plan, options.seed) if train else []
        price = training_price(question, samples, training, plan, module, pilots.step_seconds)
        beside = [] if regression is None else [regression]
        for grown in _with_pilots(
            result, trainer, pilots, price, suited, say, trainings, beside, later, spare
        ):
            result = grown
            yield result
    elif options.method != "kernel":
        note = too_small_text(question, trainer, plan, options, trainings, spent)
        result = replace(result, notes=(*result.notes, note))
    if train:
        say("whole trainings", 0, 0)
        check, _ = training_check(whole_asked, question, training, plan, options.seed, say, trainings)
        result = replace(result, check=check)
    yield replace(result, notes=(*result.notes, *trainings.notes))


def _regressed(result: Forecast, regression: Regression, say: Progress, trainings: Trainings) -> Forecast:
    """The forecast with kernel regression on all samples."""
    say("kernel regression on all samples", 0, 0)
    return with_regression(result, trainings.regression(regression, say))


def _timed_for(
    question: Question, network: UserModel, options: ForecastOptions, training: TrainingOptions
) -> dict[str, Any]:
    """What times that are measured for planning are about, as plain data: all that is asked."""
    tensors = {"x": question.data.x, "labels": question.data.labels}
    if question.targets is not None:
        tensors["targets"] = question.targets.values
    if question.coverage is not None:
        tensors["seen"] = question.coverage.seen
    if question.new_data is not None:
        tensors |= {"new": question.new_data.x, "new labels": question.new_data.labels}
    for name, weight in network.builder(options.seed).named_parameters():
        tensors[f"weights {name}"] = weight
    memory = byte_count(options.memory)
    plain = asdict(
        replace(options, resume=None, workers=None, dask=None, device=str(options.device), memory=memory)
    )
    action = f"{question.group.name} {question.action.name}"
    return {
        "content": tensor_digest(tensors),
        "action": action,
        "options": plain,
        "training": asdict(training),
    }


def _with_pilots(
    result: Forecast,
    trainer: DesignTrainer,
    pilots: PilotPlan,
    price: TrainingPrice,
    suited: SuitedRemedies,
    say: Progress,
    trainings: Trainings,
    beside: list[Regression],
    later: list[Training],
    spare: float,
) -> Iterator[Forecast]:
    """The forecast with what pilot trainings predict, then with more and more of the price list.

    Workers compute what stands beside the trainings, and what comes later.
    """
    question, seed = result.question, result.options.seed
    trials = remedy_trials(question, trainer, pilots, seed, suited.augment, trainings, spare)
    soon = pilot_trainings(trainer, question.group, pilots, seed)
    say(f"pilot trainings, about {pilots.seconds:.0f} s with remedies", 0, 0)
    own = sum(one.plan.steps for one in soon)
    soon += [one for trial in trials for one in trial.trainings]
    total = sum(one.plan.steps for one in soon)
    # longest first: done sooner
    trainings.announce([*beside, *sorted(soon, key=lambda one: -one.plan.steps * one.plan.batch), *later])
    counted = partial_progress(say, 0, total)
    try:
        pilot = pilot_forecast(
            trainer,
            question.group,
            pilots,
            seed,
            counted,
            trainings,
        )
    except PilotStopped as stop:
        note = f"The pilot was stopped: {stop.missing}."
        yield replace(result, pilot=stop.pilot, notes=(*result.notes, note))
        raise
    possible = trial_counts(question, trainer, suited.augment)[0]
    result = replace(result, pilot=pilot, notes=(*result.notes, *pilot_notes(pilot, possible)))
    for regression in beside:
        result = _regressed(result, regression, say, trainings)
    yield result
    say("remedies", 0, 0)
    counted = partial_progress(say, own, total)
    rows: list[Advice] = []
    remedies = Remedies(question, trainer, pilot, seed, suited.invariance, trainings)
    for found in remedy_rows(remedies, trials, price, counted):
        rows += found
        single = [one for one in rows if one.kind != "combined"]
        result = replace(
            result,
            advice=rank_advice(single, question.target),
            combinations=rank_combinations([one for one in rows if one.kind == "combined"]),
        )
        yield result


def _new_samples(new: Any, data: LabelledData | MeasuredData, names: Sequence[str] | None) -> LabelledData:
    """New samples with the class numbers of the data, by name where classes have names."""
    if isinstance(data, MeasuredData):
        raise InputError(
            "new: new samples are taken from the data itself where numbers are predicted; leave it out."
        )
    fresh, words = as_samples(new, "classification")
    assert isinstance(fresh, LabelledData)
    if words is None or names is None:
        return fresh
    foreign = sorted(set(words) - set(names))
    if foreign:
        raise InputError(f"new: class {foreign[0]!r} is not in the data; {nearest(foreign[0], list(names))}")
    places = torch.tensor([list(names).index(word) for word in words])
    return replace(fresh, labels=places[fresh.labels])
