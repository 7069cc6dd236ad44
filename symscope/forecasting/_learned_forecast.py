"""From a pilot to a whole training by a correction that was fitted on a bank of forecasts and trainings.

On the scale of logits a class moves up from what the pilot reached: by a constant, less where the pilot
has not learned what it was shown; towards what a regression on the same data reaches, with the network's
infinite-width kernel where it is known, else by nearest neighbours, if that is higher; and along the rise
from the shorter pilot to the longer. What it reaches at seen transformations counts little. The numbers
are those that `python -m docs.tooling.forecast_bank` fits to docs/results/forecast-bank; they are used
because they did better than the constants of `_extrapolation` for networks, data sets and groups that were
left out of the fit. Intervals are conformal: as wide as residuals of networks that were left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from symscope.forecasting._extrapolation import Z_975, moved_scores, score_logits
from symscope.forecasting._trained_answer import ScoreTable, TablePrediction, class_scores
from symscope.numerics import explained, may_be_infinite

HALFWAY = 0.15  # progress of a pilot after which half of the correction applies
WEIGHTS = (0.47, -0.58, 0.97, 0.21, -0.12, 0.15)  # of the six parts of `correction_features`
WIDTH, FURTHER_WIDTH = 0.07, 0.51  # half width of a class, for a whole training and for what is to come
SHARED = 0.38  # of the squared errors of classes, the part that all classes of a case have in common
LEAST_SPREAD = 0.1
BANK_POINTS = 100  # points behind a score of the bank at least
MOST_POINTS = 400  # points behind a score, at most: more make it no more certain


@explained
def to_come(progress: float) -> float:
    """How much of the correction applies after a pilot of this progress: 0 for a whole training.

    >>> to_come(1.0), round(to_come(0.15), 3), round(to_come(0.01), 2)
    (0.0, 0.425, 0.93)
    """
    done = min(1.0, progress)
    return (1 - done) / (1 + done / HALFWAY)


@may_be_infinite
@explained
def class_logits(score: Float64[Tensor, "c"], points: Int64[Tensor, "c"]) -> Float64[Tensor, "c"]:
    """Logits of accuracies, as if one more point were right and one more wrong.

    >>> class_logits(torch.tensor([0.5, 1.0]).double(), torch.tensor([10, 8])).tolist()[0]
    0.0
    """
    count = points.clamp(max=MOST_POINTS)
    return torch.logit((score * count + 1) / (count + 2))


@may_be_infinite
@explained
def correction_features(
    pilots: Float64[Tensor, "lengths c"],
    covered: Float64[Tensor, "c"],
    regression: Float64[Tensor, "c"],
    fitted: float,
    points: Int64[Tensor, "c"],
    progress: float,
) -> Float64[Tensor, "c 6"]:
    """What the correction of each class is a linear function of.

    Args:
        pilots: Accuracy of each class after one or two pilots, the longer last, at what the training data
            lacks of it; NaN for classes that were not asked.
        covered: Accuracy at what it has of the class.
        regression: Accuracy of kernel regression, or of nearest neighbours, at what it lacks.
        fitted: Share of the points trained on that the longer pilot has right.
        points: Points behind the accuracies.
        progress: How much of a whole training the longer pilot stands for.
    """
    here, there, near = (class_logits(one, points) for one in (pilots[-1], covered, regression))
    rise = (here - class_logits(pilots[0], points)).nanmean().nan_to_num()
    higher, unlearned = (near - here).clamp(min=0), 1 - fitted
    one = torch.ones_like(here)
    parts = [one, unlearned * one, higher, unlearned * higher, there - here, rise * one]
    return to_come(progress) * torch.stack(parts, 1)


@may_be_infinite
@explained
def half_widths(
    score: Float64[Tensor, "c"], progress: float, points: Int64[Tensor, "c"]
) -> Float64[Tensor, "c"]:
    """Half widths of 95 % intervals of classes; narrower towards accuracies of 0 and 1.

    What fewer points than those of the bank leave open is added.
    """
    spread = 2 * (score * (1 - score)).clamp(min=0).sqrt() + LEAST_SPREAD
    smoothed = (score * points + 1) / (points + 2)
    fewer = (1 / points - 1 / BANK_POINTS).clamp(min=0)
    chance = Z_975 * (smoothed * (1 - smoothed) * fewer).sqrt()
    return torch.hypot((WIDTH + FURTHER_WIDTH * to_come(progress)) * spread, chance)


@explained
def mean_width(classes: int) -> float:
    """Half width of the mean over classes, in mean half widths of classes: `sqrt(s + (1 - s) / classes)`.

    What the errors of classes do not share averages out; the mean of one class is as certain as the class.

    >>> mean_width(1), mean_width(2) > mean_width(10) > SHARED**0.5
    (1.0, True)
    """
    return float((SHARED + (1 - SHARED) / max(1, classes)) ** 0.5)


@may_be_infinite
@explained
def learned_shift(
    missing: Sequence[ScoreTable], covered: ScoreTable, fitted: float, regression: ScoreTable, progress: float
) -> Float64[Tensor, "c"]:
    """How far each class moves on the scale of logits, from the longer pilot to a whole training.

    Args:
        missing: New samples at what the training data lacks, after each pilot, the longer last.
        covered: New samples at what it has; classes without any have the fitted score.
        fitted: Score at points of the training data.
        regression: Kernel regression, or nearest neighbours, at what it lacks.
        progress: How much of a whole training the longer pilot stands for.
    """
    there = covered.total.sum(1) / covered.count.sum(1)
    there = torch.where(there.isnan(), fitted, there)
    pilots = torch.stack([class_scores(one) for one in missing])
    points = missing[-1].count.sum(1)
    features = correction_features(pilots, there, class_scores(regression), fitted, points, progress)
    return features @ torch.tensor(WEIGHTS, dtype=torch.float64)


@may_be_infinite
@explained
def learned_prediction(table: ScoreTable, shift: Float64[Tensor, "c"], progress: float) -> TablePrediction:
    """Accuracies of a whole training, each class moved so far on the scale of logits.

    Args:
        table: Accuracies after the pilot.
        shift: How far each class moves; NaN for classes that were not asked.
        progress: How much of a whole training the pilot stands for.
    """
    now, points = class_scores(table), table.count.sum(1)
    score = moved_scores(now, class_logits(now, points), shift)
    half = half_widths(score, progress, points)
    mean, mean_half = float(score.nanmean()), float(half.nanmean()) * mean_width(int((~half.isnan()).sum()))
    ends = (max(0.0, mean - mean_half), min(1.0, mean + mean_half))
    cells = _cells_with_mean(table, score)
    return TablePrediction(cells, score, (score - half).clamp(min=0), (score + half).clamp(max=1), ends)


def _cells_with_mean(table: ScoreTable, score: Float64[Tensor, "c"]) -> Float64[Tensor, "c n"]:
    """The cells of each class, moved together on the scale of logits until their mean is the class's."""
    z, asked = score_logits(table, True), table.count > 0
    low, high = torch.full_like(score, -30.0), torch.full_like(score, 30.0)
    for _ in range(60):  # bisection: the mean rises with the shift
        middle = (low + high) / 2
        moved = moved_scores(table.mean, z, middle[:, None].expand_as(z))
        short = torch.where(asked, moved, 0.0).sum(1) / asked.sum(1) < score
        low, high = torch.where(short, middle, low), torch.where(short, high, middle)
    return torch.where(asked, moved_scores(table.mean, z, low[:, None].expand_as(z)), torch.nan)
