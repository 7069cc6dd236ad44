"""From short trainings to a long one: scores rise with the steps, ever more slowly.

Two trainings of different length, each with its schedule run to the end, give a rise; the next factor of
the same size in steps brings `DECAY` of it, the one after it `DECAY` of that. On the logit scale, where a
rise near 1 is as hard as one near 0. `DECAY` is what MLP and CNN did between 300, 1,000 and 3,000 steps on
MNIST under C8 (0.5 and 0.54); a ResNet's was smaller (0.2).
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.forecasting._trained_answer import ScoreTable
from symscope.numerics import explained, may_be_infinite

DECAY = 0.5
OWN = 0.5  # weight of a cell's own rise; the rest is the mean rise of all: single cells are noisy
TRAINING_SPREAD = 0.25  # standard deviation between trainings of one cell, in logits
RISE_SPREAD = 0.5  # standard deviation of what is extrapolated, as a share of it
WORST = 1e-3  # share of the variation left unexplained below which it counts as this
Z_975 = 1.96


def score_logits(table: ScoreTable, bounded: bool) -> Float64[Tensor, "c n"]:
    """Scores on a scale without ends: logits of shares, minus the logarithm of what is unexplained.

    Args:
        table: Scores and counts.
        bounded: Whether scores are shares of points, between 0 and 1.

    >>> table = ScoreTable(torch.tensor([[1.0, 2.0]], dtype=torch.float64), torch.tensor([[2, 2]]))
    >>> [round(z, 2) for z in score_logits(table, True)[0].tolist()]
    [0.0, 1.1]
    """
    if bounded:
        share = (table.total + 1) / (table.count + 2)
        return torch.where(table.count > 0, torch.logit(share), math.nan)
    return -(1 - table.mean).clamp(min=WORST).log()


def rise_factor(first: int, second: int, full: int) -> float:
    """The rise from `second` to `full` steps as a multiple of that from `first` to `second`.

    >>> rise_factor(100, 300, 900), rise_factor(100, 300, 300), round(rise_factor(100, 300, 2700), 2)
    (0.5, 0.0, 0.75)
    """
    if full <= second:
        return 0.0
    further = math.log(full / second) / math.log(second / first)
    return DECAY * (1 - DECAY**further) / (1 - DECAY)


def extrapolated(
    first: Float64[Tensor, "c n"], second: Float64[Tensor, "c n"], factor: float
) -> Float64[Tensor, "c n"]:
    """How far the logits of a longer training are from those after the second length.

    Args:
        first: Logits after the shorter training; NaN in cells that were not asked.
        second: Logits after the longer one.
        factor: Multiple of the rise between them that is still to come.

    >>> first, second = torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 0.5]])
    >>> extrapolated(first.double(), second.double(), 0.5).tolist()
    [[0.4375, 0.3125]]
    """
    rise = second - first
    common = rise.nanmean().nan_to_num()
    return factor * (OWN * torch.where(rise.isnan(), common, rise) + (1 - OWN) * common)


def shifted_scores(table: ScoreTable, moved: Float64[Tensor, "c n"], bounded: bool) -> Float64[Tensor, "c n"]:
    """Scores of a table, moved by so much on the scale of logits; as they are where nothing is moved.

    >>> table = ScoreTable(torch.tensor([[9.0]], dtype=torch.float64), torch.tensor([[18]]))
    >>> round(float(shifted_scores(table, torch.ones(1, 1).double(), True)), 4)
    0.7311
    """
    z = score_logits(table, bounded)
    if bounded:
        return moved_scores(table.mean, z, moved)
    return (table.mean + torch.exp(-z) - torch.exp(-z - moved)).clamp(max=1.0)


@may_be_infinite
@explained
def moved_scores(
    score: Float64[Tensor, "*s"], z: Float64[Tensor, "*s"], shift: Float64[Tensor, "*s"]
) -> Float64[Tensor, "*s"]:
    """Shares moved by so much on the scale of logits; as they are where nothing is moved.

    Args:
        score: Shares of points.
        z: Their logits, finite: those of 0 and 1 are smoothed.
        shift: How far each moves.

    >>> one = torch.ones(1).double()
    >>> moved_scores(one, 3 * one, 0 * one).item(), round(moved_scores(one / 2, 0 * one, one).item(), 3)
    (1.0, 0.731)
    """
    return (score + (torch.sigmoid(z + shift) - torch.sigmoid(z))).clamp(0.0, 1.0)  # exact where not moved


def score_half_widths(
    table: ScoreTable, moved: Float64[Tensor, "c n"], bounded: bool, repeats: int
) -> tuple[Float64[Tensor, "c n"], Float64[Tensor, "c n"]]:
    """Half widths of 95 % intervals of each cell, in scores, for what a single training of a user will give.

    Args:
        table: Scores and counts.
        moved: What was extrapolated, in logits.
        bounded: Whether scores are shares of points.
        repeats: Trainings behind the table.

    Returns:
        What trainings and few points scatter by, and the uncertainty of what was extrapolated, which all
        cells share.
    """
    z = score_logits(table, bounded) + moved
    slope = torch.sigmoid(z) * torch.sigmoid(-z) if bounded else torch.exp(-z)
    points = (
        1 / (table.count.clamp(min=1) * slope.clamp(min=1e-3)) if bounded else 1 / table.count.clamp(min=1)
    )
    own = (TRAINING_SPREAD**2 * (1 + 1 / repeats) + points).sqrt()
    return Z_975 * own * slope, Z_975 * RISE_SPREAD * moved.abs() * slope
