"""The one call: will a network generalise to transformations it has not seen, and what to do about it?"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from symscope.data import Action, as_samples
from symscope.errors import InputError
from symscope.forecasting._advice import advice
from symscope.forecasting._cautions import layer_cautions, symmetry_cautions
from symscope.forecasting._check import pilot_forecast, training_check
from symscope.forecasting._equivariance import equivariance
from symscope.forecasting._kernel_choice import TangentKernel, default_per_class, tangent_kernel
from symscope.forecasting._kernel_prediction import ResamplePrediction, class_pairs, resample_prediction
from symscope.forecasting._options import CheckOptions, ForecastOptions
from symscope.forecasting._question import Missing, Question, as_question
from symscope.forecasting._remedies import GroupSizeForecast, group_size_forecasts
from symscope.forecasting._resample import draw_resample
from symscope.forecasting._result import Forecast, KernelPrediction
from symscope.networks import UserModel, user_model
from symscope.numerics import Progress, check_finite

CONSTANT = 1e-12  # spread of a kernel, relative to its size, that is rounding


def forecast(
    model: str | nn.Module | Callable[..., nn.Module],
    data: Any,
    action: Action | str = "C8 rotation",
    *,
    task: str = "auto",
    missing: Missing = None,
    target: float = 0.9,
    train: bool | CheckOptions = False,
    class_names: Sequence[str] | None = None,
    weights: str | os.PathLike[str] | None = None,
    name: str | None = None,
    options: ForecastOptions | None = None,
    progress: Progress | None = None,
) -> Forecast:
    """Before training: will this network generalise to transformations of a class that it has not seen?

    Some samples of every class are shown in all transformations, except one class, which lacks one (or the
    cases in `missing`). A wide network trained on the rest is regression with its tangent kernel; the exact
    group form, `residual_M = (P_MM)^-1 (P y)_M`, gives its outputs at what was left out. Numbers to predict
    are standardised and treated in the same way, with up to five groups of samples in the place of classes.

    Args:
        model: "mlp", "conv-fc", "conv-gap", "vit"; a function that returns a module; or a module.
        data: `(X, y)` of arrays or tensors, a map-style torch dataset of pairs, `LabelledData`,
            `MeasuredData` (numbers that no transformation changes), or what `--data` takes; see
            `data.as_samples`.
        action: An `Action`, or a group and how it acts: "C8 rotation", "D4", "C14xC14 shift", "flip".
        task: "classification"; "regression", where y are numbers to predict; or "auto": whole numbers and
            words are classes.
        missing: Elements that the training data lacks of some classes, all at once, `{class: [elements]}`; by
            default each class in turn lacks the identity. Groups of numbers are 0 (lowest) to 4.
        target: Accuracy, or share of the variation explained, that is good enough.
        train: Whether to check the forecast by training the network, or how.
        class_names: Names of classes 0, 1, ... in tables and pictures; if not given, word labels or numbers.
        weights: File with a saved state dict to start from.
        name: Name of the network in reports.
        options: How the forecast is computed: kernel, number of samples, seed, device and more.
        progress: Called as `progress(words, done, total)`: before each part with a total of 0, and while
            networks train after each epoch.

    Raises:
        InputError: An argument that cannot be used, in one sentence.

    >>> from symscope.data import mnist_sample
    >>> digits = mnist_sample().of_classes(0, 1, 4)
    >>> forecast("mlp", digits, "C4 rotation", options=ForecastOptions(per_class=2, resamples=2))
    Forecast(mlp, C4 rotation: Borderline, accuracy 0.67 [0.10, 1.00], target 0.90)
    """
    start = time.perf_counter()
    say = progress or (lambda words, done, total: None)
    options = options or ForecastOptions()
    samples, words = as_samples(data, task)
    question = as_question(samples, action, options.standardise, class_names or words, missing, target)
    network = user_model(model, question.shape, question.outputs, name=name, weights=weights)
    question.task.check(question, network)
    classes, order = len(question.data.classes), question.group.order
    fewest = (options.per_class or 2) * classes * order
    tangent = tangent_kernel(network, question.shape, options.kernel, fewest, options.effort)
    if options.per_class is None:
        count = default_per_class(tangent, classes, order, question.smallest_class, options.effort)
        options = replace(options, per_class=count)
    result = _architecture_forecast(question, network, tangent, options, say)
    settings = train if isinstance(train, CheckOptions) else CheckOptions()
    resample = result.prediction.resample
    if options.pilot_epochs:
        say(f"pilot training of {options.pilot_epochs} epochs", 0, 0)
        pilot = pilot_forecast(network, question, resample, settings, options, progress)
        result = replace(result, pilot=pilot)
    if train:
        say("training", 0, 0)
        check, _ = training_check(network, question, resample, settings, options, progress)
        result = replace(result, check=check)
    say("advice", 0, 0)
    result = replace(result, advice=advice(result, tangent))
    return replace(result, seconds=time.perf_counter() - start)


def _architecture_forecast(
    question: Question,
    network: UserModel,
    tangent: TangentKernel,
    options: ForecastOptions,
    say: Progress,
) -> Forecast:
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
        predictions.insert(0, resample_prediction(gram, resample, group, question.missing, options.ridge))
    say(f"{question.task.words.many} two by two", 0, 0)
    pairs = class_pairs(gram, resample, group, predictions[0].ridge)
    say("fewer and more transformations", 0, 0)
    group_sizes: tuple[GroupSizeForecast, ...] = ()
    if question.missing is None:  # other groups have other elements than those named as missing
        group_sizes = group_size_forecasts(question, tangent, options, min(options.per_class, 3))
    say("equivariance", 0, 0)
    module, images = network.builder(seed), resample.images[:, group.identity]
    invariance_error = sum(one.invariance_error for one in predictions) / count
    confusions = [one.confusion for one in predictions if one.confusion is not None]
    layers = layer_cautions(module, network, question, images)
    prediction = KernelPrediction(
        kernel=tangent.name,
        kernel_reason=tangent.reason,
        class_accuracy=torch.stack([one.accuracy for one in predictions]),
        class_spread=torch.stack([one.spread for one in predictions]),
        class_error=torch.stack([one.error for one in predictions]).mean(0),
        confusion=torch.stack(confusions).mean(0) if confusions else None,
        table=torch.stack([one.table for one in predictions]).mean(0),
        invariance_error=invariance_error,
        pairs=pairs,
        group_sizes=group_sizes,
        equivariance=equivariance(module, network, question, images),
        notes=tuple(dict.fromkeys(note for one in predictions for note in one.notes)),
        resample=resample,
        resample_prediction=predictions[0],
    )
    cautions = (*symmetry_cautions(invariance_error, resample, group), *layers)
    return Forecast(question, network, options, prediction, cautions=cautions)


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
