"""From a pilot to a whole training by a correction that was fitted on a bank of forecasts and trainings.

On the scale of logits a class moves from what the pilot reached: by a constant; more where the pilot has not
learned what it was shown of the class; towards what its nearest neighbours in the training data say, those of
its inputs or those of what the last layer gets, whichever is higher; and towards how sure the pilot is of it.
The numbers are those that `python -m docs.tooling.forecast_bank` fits to docs/results/forecast-bank; they are
used because they did better than the constants of `_extrapolation` for networks, data sets and groups that
were left out of the fit. Intervals are conformal: as wide as residuals of networks that were left out.
"""

from __future__ import annotations

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from symscope.forecasting._extrapolation import Z_975, moved_scores, score_logits
from symscope.forecasting._trained_answer import (
    ScoreTable,
    TablePrediction,
    TrainedAnswer,
    class_scores,
)
from symscope.numerics import explained, may_be_infinite

HALFWAY = 0.15  # progress of a pilot after which half of the correction applies
WEIGHTS = (0.09, 1.38, 0.80, 0.33, 0.18)  # of the five parts of `correction_features`
WIDTH, FURTHER_WIDTH = 0.14, 0.19  # half width of a class, for a whole training and for what is to come
SHARED = 0.55  # of the squared errors of classes, the part that all classes of a case have in common
LEAST_SPREAD = 0.1
BANK_POINTS = 100  # points behind a score of the bank at least
MOST_POINTS = 400  # points behind a score, at most: more make it no more certain
USUAL_ERROR = 0.5  # logits by which corrected pilots of 3 to 10 % of the cost are off in the bank, about
STEPS = 400  # of a logit in a search, on each side


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
    pilot: Float64[Tensor, "c"],
    near: Float64[Tensor, "c"],
    sure: Float64[Tensor, "c"],
    fitted: Float64[Tensor, "c"],
    points: Int64[Tensor, "c"],
    progress: float,
) -> Float64[Tensor, "c 5"]:
    """What the correction of each class is a linear function of.

    Args:
        pilot: Accuracy of each class after a pilot at what the training data lacks of it; NaN for classes
            that were not asked.
        near: How often the nearest point of the training data has the class.
        sure: Mean probability of the class there.
        fitted: Share of the points of the class trained on that the pilot has right.
        points: Points behind the accuracies.
        progress: How much of a whole training the pilot stands for.
    """
    here, beside, likely = (class_logits(one, points) for one in (pilot, near, sure))
    parts = [torch.ones_like(here), 1 - fitted, beside - here, likely - here, here]
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
    answer: TrainedAnswer, neighbours: ScoreTable | None, progress: float
) -> Float64[Tensor, "c"]:
    """How far each class moves on the scale of logits, from a pilot to a whole training.

    Args:
        answer: What the pilot answers about new samples.
        neighbours: Nearest neighbours of inputs; None for a network that is invariant, of which they say
            nothing.
        progress: How much of a whole training the pilot stands for.
    """
    pilot, near, sure, fit = map(class_scores, (answer.new, answer.near, answer.sure, answer.fit))
    if neighbours is not None:
        near = torch.fmax(near, class_scores(neighbours))
    near, sure = (torch.where(one.isnan(), pilot, one) for one in (near, sure))
    fitted = torch.where(fit.isnan(), answer.fitted, fit)
    features = correction_features(pilot, near, sure, fitted, answer.new.count.sum(1), progress)
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


@explained
def shift_towards(scores: Float64[Tensor, "c"], known: float, spread: float) -> float:
    """How far scores move together on the scale of logits, where their mean is known to be another.

    The most probable common error of corrections: `((mean - known) / spread)² + (shift / usual error)²` is
    least. Near accuracies of 0 and 1 logits differ much where scores hardly do, and little is moved.

    Args:
        scores: Corrected scores of classes, without NaN.
        known: What a longer pilot says of their mean.
        spread: Its standard deviation.

    >>> shift_towards(torch.tensor([0.7, 0.8]).double(), 0.4, 0.05) < -1
    True
    >>> abs(shift_towards(torch.tensor([0.02, 0.02]).double(), 0.0, 0.05)) < 0.2
    True
    """
    shifts = torch.arange(-STEPS, STEPS + 1, dtype=torch.float64) / 100
    z = torch.logit(scores.clamp(1e-3, 1 - 1e-3))
    means = torch.sigmoid(z + shifts[:, None]).mean(1)
    cost = ((means - known) / max(spread, 1e-3)).square() + (shifts / USUAL_ERROR).square()
    return float(shifts[cost.argmin()])


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
