"""The part of a forecast that needs no training: what the architecture's kernel predicts."""

from __future__ import annotations

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.forecasting._cautions import symmetry_cautions
from symscope.forecasting._design_trainer import DesignTrainer
from symscope.forecasting._full_kernel import FullKernelPrediction
from symscope.forecasting._kernel_choice import (
    MATRICES,
    TangentKernel,
    default_per_class,
    kernel_seconds,
    most_per_class,
    outputs_reason,
    tangent_kernel,
)
from symscope.forecasting._kernel_prediction import (
    KernelPrediction,
    ResamplePrediction,
    class_pairs,
    resample_prediction,
)
from symscope.forecasting._options import KERNEL_SHARE, ForecastOptions
from symscope.forecasting._question import Question
from symscope.forecasting._regression import Regression
from symscope.forecasting._regression_cost import pairs_cost, resample_cost
from symscope.forecasting._resample import draw_resample
from symscope.forecasting._result import Forecast
from symscope.forecasting._sample_split import samples_text
from symscope.forecasting._task_wording import seconds_text
from symscope.forecasting._trainings import Trainings
from symscope.networks import UserModel
from symscope.numerics import Progress, byte_text, check_finite

LEAST_PAIRS = 0.5  # seconds for classes two by two, whatever the budget
FIRST_GRADIENTS = 1.0  # seconds until gradients of samples are set up
CONSTANT = 1e-12  # spread of a kernel, relative to its size, that is rounding


def with_kernel(
    result: Forecast, trainer: DesignTrainer, say: Progress, trainings: Trainings, seconds: float
) -> tuple[Forecast, Regression | None]:
    """The forecast with what the architecture alone predicts, if that takes no more than so many seconds.

    Returns:
        The forecast, and regression on all samples, which is still to be done; None where there is none.
    """
    question, network, options = result.question, result.model, result.options
    effort = options.effort * seconds / (KERNEL_SHARE * options.seconds)
    classes, order = len(question.data.classes), question.group.order
    fewest = (options.per_class or 2) * classes * order
    tangent = tangent_kernel(network, question.shape, options.kernel, fewest, effort)
    if question.target_action is not None:
        exact = outputs_reason(tangent, network, question.shape)
        tangent = replace(tangent, reason=f"{tangent.reason} {exact}")
    fits = most_per_class(classes, order, options.kernel_memory)
    if options.per_class is None:
        count = default_per_class(tangent, classes, order, question.smallest_class, effort)
        options = replace(options, per_class=max(min(2, count), min(count, fits)))
    assert options.per_class is not None
    if options.per_class > fits:
        return _too_large(result, options.per_class), None
    points = options.per_class * classes * order
    gram = trainings.measured("kernel", lambda: kernel_seconds(tangent, network, question, points))
    each = gram + resample_cost(classes, options.per_class, question.group, question.coverage is None).seconds
    pairs, allowed = pairs_cost(classes, question.group).seconds, seconds
    beside = options.method == "auto"  # pilots are to come
    allowed -= FIRST_GRADIENTS if beside else 0.0
    solved = True
    if options.method == "auto":
        if each > allowed:
            note = (
                "What the architecture alone predicts was left out: its kernel would take about "
                f"{seconds_text(each)} for {samples_text(options.per_class)} of each "
                f"{question.task.words.one}, more than the budget leaves it."
            )
            return replace(result, notes=(*result.notes, note)), None
        if each * options.resamples > allowed / 2:
            options = replace(options, resamples=1)
        solved = pairs <= max(LEAST_PAIRS, allowed - each * options.resamples)
        if not solved:
            note = f"Classes two by two, which would take about {pairs:.0f} s, were left out."
            result = replace(result, notes=(*result.notes, note))
    left = allowed - each * options.resamples if beside else allowed
    prediction = _architecture_prediction(question, network, tangent, options, solved, say)
    cautions = symmetry_cautions(prediction.invariance_error, prediction.resample, question.group)
    result = replace(result, options=options, prediction=prediction, cautions=(*cautions, *result.cautions))
    if beside and left < FIRST_GRADIENTS:
        return with_regression(result, "no time is left for more"), None
    return result, Regression(
        trainer,
        question,
        options.seed,
        tangent.kind,
        options.ridge,
        options.per_class or 0,
        left / 2,  # estimates are rough
        options.kernel_memory,
    )


def _too_large(result: Forecast, per_class: int) -> Forecast:
    """The forecast with a note that the kernel of so many samples does not fit the memory.

    Raises:
        InputError: Nothing else was asked for.
    """
    classes, order, options = len(result.question.data.classes), result.question.group.order, result.options
    size = byte_text(8.0 * MATRICES * (per_class * classes * order) ** 2)
    shown = f"{samples_text(per_class)} of each {result.question.task.words.one}"
    text = (
        f"kernels of {shown} take about {size}, got {byte_text(options.kernel_memory)} for them; allow more "
        "(--memory)"
    )
    if options.method == "kernel":
        raise InputError(f"memory: {text}.")
    return replace(
        result, notes=(*result.notes, f"What the architecture alone predicts was left out: {text}.")
    )


def with_regression(result: Forecast, whole: FullKernelPrediction | str) -> Forecast:
    """The forecast with kernel regression on all samples beside that on a few, or the reason why not."""
    if isinstance(whole, str):
        one = result.question.task.words.one
        shown = samples_text(result.options.per_class or 0)
        fewer = f"The architecture alone is asked with {shown} of each {one}: {whole}."
        return replace(result, notes=(*result.notes, fewer))
    assert result.prediction is not None
    return replace(result, prediction=replace(result.prediction, full=whole))


def _architecture_prediction(
    question: Question,
    network: UserModel,
    tangent: TangentKernel,
    options: ForecastOptions,
    solved: bool,
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
    pairs = class_pairs(gram, resample, group, predictions[0].ridge, solved)
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
