"""What a forecast has to beat: kernel regression and the paper's spectral rule."""

from __future__ import annotations

from jaxtyping import Float64
from torch import Tensor

from symscope.errors import InputError
from symscope.forecasting.methods import (
    DesignTrainer,
    Question,
    class_pairs,
    class_scores,
    draw_resample,
    full_kernel_prediction,
    kernel_seconds,
    tangent_kernel,
)

FEW = 2  # samples of each class for the spectral rule: the paper's pairs


def kernel_scores(trainer: DesignTrainer, question: Question, seconds: float) -> Float64[Tensor, "c"] | None:
    """Accuracy of regression with the infinite network's kernel on all samples; None where there is none."""
    try:
        tangent = tangent_kernel(trainer.model, question.shape, "infinite")
    except InputError:
        return None
    result = full_kernel_prediction(tangent, question, trainer.samples, 0.0, seconds, trainer.device)
    return None if isinstance(result, str) else class_scores(result.headline)


def spectral_rule(
    trainer: DesignTrainer, question: Question, seed: int, seconds: float
) -> Float64[Tensor, "c"] | None:
    """The paper's rule for pairs: right where the spectral error is below 1, over all other classes."""
    if question.coverage is not None:
        return None
    try:
        tangent = tangent_kernel(trainer.model, question.shape, "infinite")
    except InputError:
        return None
    points = FEW * len(question.data.classes) * question.group.order
    if kernel_seconds(tangent, trainer.model, question, points) > seconds:
        return None
    resample = draw_resample(question, FEW, seed)
    gram = tangent.kernel(seed)(resample.flat.to(trainer.device)).cpu()
    error = class_pairs(gram, resample, question.group, 0.0).error
    there = ~error.isnan()
    return ((error < 1) & there).double().sum(1) / there.sum(1)
