"""From a pilot to a whole training by a correction that was fitted on a bank of forecasts and trainings.

On the scale of logits a class moves from what the pilot reached towards what a regression on the same data
reaches, with the network's infinite-width kernel where it is known, else by nearest neighbours, and up; less,
the longer the pilot, and the nearer it is to what it reaches at seen transformations. The numbers
are those that `python -m docs.tooling.forecast_bank` fits to docs/results/forecast-bank; they are used
because they did better than the constants of `_extrapolation` for networks, data sets and groups that were
left out of the fit. Intervals are conformal: as wide as residuals of networks that were left out.
"""

from __future__ import annotations

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from symscope.forecasting._extrapolation import Z_975, moved_scores, score_logits
from symscope.forecasting._trained_answer import ScoreTable, TablePrediction, class_scores
from symscope.numerics import explained, may_be_infinite

POWER = 0.3  # of the share of the steps that a pilot takes: 0.68 is still to come at 2 %
WEIGHTS = (0.66, 1.18, 0.10, -0.09)  # of the four parts of `correction_features`
WIDTH, FURTHER_WIDTH = 0.13, 0.30  # half width of a class, for a whole training and for what is to come
MEAN_WIDTH = 0.70  # half width of the mean over classes, in mean half widths of classes
LEAST_SPREAD = 0.1
BANK_POINTS = 100  # points behind a score of the bank at least
MOST_POINTS = 400  # points behind a score, at most: more make it no more certain


@explained
def to_come(share: float) -> float:
    """How much of the correction applies after a pilot of this share of the steps: 0 for a whole training.

    >>> to_come(1.0), round(to_come(0.1), 2), round(to_come(0.01), 2)
    (0.0, 0.5, 0.75)
    """
    return 1 - min(1.0, share) ** POWER


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
    covered: Float64[Tensor, "c"],
    regression: Float64[Tensor, "c"],
    points: Int64[Tensor, "c"],
    share: float,
) -> Float64[Tensor, "c 4"]:
    """What the correction of each class is a linear function of.

    Args:
        pilot: Accuracy of each class after the pilot, at what the training data lacks of it.
        covered: Accuracy at what it has of the class.
        regression: Accuracy of kernel regression, or of nearest neighbours, at what it lacks.
        points: Points behind the accuracies.
        share: Steps of the pilot over those of a whole training.
    """
    here, there, near = (class_logits(one, points) for one in (pilot, covered, regression))
    lacking = (there - here).clamp(min=0)
    parts = [torch.ones_like(here), near - here, (near - here) * lacking / (1 + lacking), there - here]
    return to_come(share) * torch.stack(parts, 1)


@may_be_infinite
@explained
def half_widths(
    score: Float64[Tensor, "c"], share: float, points: Int64[Tensor, "c"]
) -> Float64[Tensor, "c"]:
    """Half widths of 95 % intervals of classes; narrower towards accuracies of 0 and 1.

    What fewer points than those of the bank leave open is added.
    """
    spread = 2 * (score * (1 - score)).clamp(min=0).sqrt() + LEAST_SPREAD
    smoothed = (score * points + 1) / (points + 2)
    fewer = (1 / points - 1 / BANK_POINTS).clamp(min=0)
    chance = Z_975 * (smoothed * (1 - smoothed) * fewer).sqrt()
    return torch.hypot((WIDTH + FURTHER_WIDTH * to_come(share)) * spread, chance)


@may_be_infinite
@explained
def learned_shift(
    missing: ScoreTable, covered: ScoreTable, fitted: float, regression: ScoreTable, share: float
) -> Float64[Tensor, "c"]:
    """How far each class moves on the scale of logits, from the pilot to a whole training.

    Args:
        missing: New samples at what the training data lacks, after the pilot.
        covered: New samples at what it has; classes without any have the fitted score.
        fitted: Score at points of the training data.
        regression: Kernel regression, or nearest neighbours, at what it lacks.
        share: Steps of the pilot over those of a whole training.
    """
    there = covered.total.sum(1) / covered.count.sum(1)
    there = torch.where(there.isnan(), fitted, there)
    scores = (class_scores(missing), there, class_scores(regression))
    features = correction_features(*scores, missing.count.sum(1), share)
    return features @ torch.tensor(WEIGHTS, dtype=torch.float64)


@may_be_infinite
@explained
def learned_prediction(table: ScoreTable, shift: Float64[Tensor, "c"], share: float) -> TablePrediction:
    """Accuracies of a whole training, each class moved so far on the scale of logits.

    Args:
        table: Accuracies after the pilot.
        shift: How far each class moves; NaN for classes that were not asked.
        share: Steps of the pilot over those of a whole training.
    """
    now, points = class_scores(table), table.count.sum(1)
    score = moved_scores(now, class_logits(now, points), shift)
    half = half_widths(score, share, points)
    mean, mean_half = float(score.nanmean()), MEAN_WIDTH * float(half.nanmean())
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
