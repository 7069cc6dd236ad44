"""What a forecast has to beat: nearest neighbours, kernel regression, the paper's spectral rule."""

from __future__ import annotations

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from symscope.errors import InputError
from symscope.forecasting.methods import (
    Design,
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
PIECE = 2048  # points whose neighbours are looked for at a time


def nearest_neighbour(trainer: DesignTrainer, designs: list[Design]) -> Float64[Tensor, "c"]:
    """Accuracy, on new samples at what their class lacks, of the class of the nearest point that was seen.

    Args:
        trainer: Samples and device.
        designs: What the training data holds, one design for each class of a sweep.

    Returns:
        NaN for classes that lack nothing.
    """
    samples, device = trainer.samples, trainer.device
    known, new = samples.known, samples.new
    assert new is not None
    total = torch.zeros(samples.classes, dtype=torch.float64)
    count = torch.zeros_like(total)
    points, fresh = (one.points.flatten(0, 1).flatten(1) for one in (known, new))
    owners = known.positions.repeat_interleave(samples.order)
    for design in designs:
        seen = design.seen.flatten()
        asked = design.missing[new.positions].flatten()
        true = new.positions.repeat_interleave(samples.order)[asked]
        label = _neighbours(fresh[asked].to(device), points[seen].to(device)).cpu()
        total.index_add_(0, true, (owners[seen][label] == true).double())
        count.index_add_(0, true, torch.ones(len(true), dtype=torch.float64))
    return total / count


def _neighbours(asked: Tensor, points: Tensor) -> Int64[Tensor, "k"]:
    """The position of the nearest point, by `|x|^2 - 2 x a` in pieces."""
    best = torch.full((len(asked),), torch.inf, device=asked.device)
    at = torch.zeros(len(asked), dtype=torch.int64, device=asked.device)
    for start in range(0, len(points), PIECE):
        piece = points[start : start + PIECE]
        distance, where = (piece.square().sum(1) - 2 * asked @ piece.T).min(1)
        nearer = distance < best
        best, at = torch.where(nearer, distance, best), torch.where(nearer, where + start, at)
    return at


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
