"""From pilots to a whole training where numbers are predicted.

A pilot that has not fitted what it was shown tells little of what it will do elsewhere: its score at missing
transformations may still rise from below 0, or fall far below it once the network is sure of itself. Two
things tell more. As training goes on, what it gains at missing transformations goes along with what it gains
at seen ones: that line is extended to a perfect fit. And regression with a Gaussian kernel on the same
training data, fitted at once, is about where trained networks end. The forecast lies between the two, nearer
to the regression the less has been fitted, and the more steps are to come.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from symscope.forecasting._asked_points import first_of_each
from symscope.forecasting._designs import Design
from symscope.forecasting._extrapolation import OWN, extrapolated, rise_factor, score_logits, shifted_scores
from symscope.forecasting._pilot_plan import PilotPlan
from symscope.forecasting._sample_split import ForecastSamples, OrbitSamples
from symscope.forecasting._trained_answer import ScoreTable
from symscope.numerics import explained

FURTHEST = 3.0  # most of the rise between two pilots that the line is extended by
RIDGE = 1e-3
MOST_POINTS = 1500  # of the training data, for the regression
ASKED = 20  # samples of a class at which it is asked


@explained
def regression_scores(
    samples: ForecastSamples, designs: Sequence[Design]
) -> tuple[ScoreTable, ScoreTable | None]:
    """What regression with a Gaussian kernel explains at what the training data lacks, known samples and new.

    `exp(-|x - x'|^2 / 2 s^2)` with s the median distance of training points, and a ridge of 0.001.

    Args:
        samples: Known and new samples, with numbers.
        designs: What the training data holds and lacks.

    Returns:
        Tables by group and element; None for new samples where there are none.
    """
    tables: list[tuple[ScoreTable, ScoreTable | None]] = []
    for design in designs:
        predict = _fitted(samples, design)
        known = _scored(samples, samples.known, ~design.seen, predict)
        fresh = samples.new
        new = None if fresh is None else _scored(samples, fresh, design.missing[fresh.positions], predict)
        tables.append((known, new))
    known, new = tables[0]
    for more_known, more_new in tables[1:]:
        known = known + more_known
        new = None if new is None or more_new is None else new + more_new
    return known, new


class _Fitted:
    """Kernel regression on points of the training data."""

    def __init__(self, points: Float64[Tensor, "p d"], wanted: Float64[Tensor, "p t"]) -> None:
        apart = torch.cdist(points, points)
        self.points, self.width = points, float(apart.median()) or 1.0
        kernel = self.kernel(apart)
        self.weights = torch.linalg.solve(kernel + RIDGE * torch.eye(len(points), dtype=kernel.dtype), wanted)

    def kernel(self, apart: Float64[Tensor, "k p"]) -> Float64[Tensor, "k p"]:
        return torch.exp(-(apart / self.width).square() / 2)

    def __call__(self, points: Float64[Tensor, "k d"]) -> Float64[Tensor, "k t"]:
        return self.kernel(torch.cdist(points, self.points)) @ self.weights


def _fitted(samples: ForecastSamples, design: Design) -> _Fitted:
    at = design.seen.nonzero()
    at = at[torch.linspace(0, len(at) - 1, min(MOST_POINTS, len(at))).long()]
    points = samples.known.points[at[:, 0], at[:, 1]].flatten(1).double()
    return _Fitted(points, samples.known.wanted[at[:, 0], at[:, 1]].double())


def _scored(
    samples: ForecastSamples, orbit: OrbitSamples, mask: Bool[Tensor, "m n"], predict: _Fitted
) -> ScoreTable:
    at = (mask & first_of_each(orbit.positions, ASKED)[:, None]).nonzero()
    outputs = predict(orbit.points[at[:, 0], at[:, 1]].flatten(1).double())
    scores = samples.scores(outputs, orbit.wanted[at[:, 0], at[:, 1]])
    size, cells = samples.classes * samples.order, orbit.positions[at[:, 0]] * samples.order + at[:, 1]
    total = torch.zeros(size, dtype=torch.float64).index_add(0, cells, scores)
    shape = (samples.classes, samples.order)
    return ScoreTable(total.reshape(shape), cells.bincount(minlength=size).reshape(shape))


@explained
def regression_weight(fitted: float, share: float) -> float:
    """How much the regression counts: what is not fitted yet, times the share of the steps that is to come.

    >>> regression_weight(0.8, 0.1), regression_weight(0.5, 1.0), regression_weight(-0.3, 0.0)
    (0.18, 0.0, 1.0)
    """
    return round(min(1.0, max(0.0, 1 - fitted)) * max(0.0, 1 - share), 12)


def trained_numbers(
    tables: Sequence[ScoreTable], fits: Sequence[float], plan: PilotPlan, regression: ScoreTable
) -> tuple[Float64[Tensor, "c n"], Float64[Tensor, "c n"]]:
    """Scores of a whole training, and how far from them pilots alone or regression alone would be.

    Args:
        tables: Scores after each length, shortest first, at what the training data lacks.
        fits: Scores at points of the training data after each length.
        plan: Lengths of the pilots, and of a whole training.
        regression: What kernel regression explains there.

    Returns:
        The scores, and those of pilots alone or of regression alone, whichever are further away.
    """
    last, share = tables[-1], plan.lengths[-1] / plan.full
    alone = last.mean
    if len(tables) > 1:
        alone = _further(tables[0], last, fits, plan)
    weight = regression_weight(fits[-1], share)
    anchor = torch.where(regression.count > 0, regression.mean, _class_mean(regression)[:, None])
    anchor = torch.where(anchor.isnan(), alone, anchor)
    score = (1 - weight) * alone + weight * anchor
    apart = torch.where((anchor - score).abs() > (alone - score).abs(), anchor, alone)
    return score, apart


def _further(
    first: ScoreTable, last: ScoreTable, fits: Sequence[float], plan: PilotPlan
) -> Float64[Tensor, "c n"]:
    """Pilots extended to a perfect fit, or by the steps to come, whichever moves them further."""
    factor = rise_factor(plan.lengths[0], plan.lengths[1], plan.full)
    steps = extrapolated(score_logits(first, False), score_logits(last, False), factor)
    by_steps = shifted_scores(last, steps, False)
    gained = fits[-1] - fits[0]
    ratio = 0.0
    if gained > 0:
        ratio = min(FURTHEST * (1 - plan.lengths[-1] / plan.full), (1 - fits[-1]) / gained)
    rise = last.mean - first.mean
    common = rise.nanmean().nan_to_num()
    rise = OWN * torch.where(rise.isnan(), common, rise) + (1 - OWN) * common
    by_fit = (last.mean + max(0.0, ratio) * rise).clamp(max=1.0)
    moves = [float((one - last.mean).nanmean().abs()) for one in (by_steps, by_fit)]
    return by_steps if moves[0] > moves[1] or math.isnan(moves[1]) else by_fit


def _class_mean(table: ScoreTable) -> Float[Tensor, "c"]:
    return table.total.sum(1) / table.count.sum(1)
