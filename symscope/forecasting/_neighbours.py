"""The accuracy of nearest neighbours at what the training data lacks: a forecast without any network.

It costs no training, but not nothing: new samples times training data times numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from symscope.forecasting._asked_points import spread_points
from symscope.forecasting._designs import Design
from symscope.forecasting._sample_split import ForecastSamples
from symscope.forecasting._trained_answer import ScoreTable
from symscope.numerics import explained

PIECE = 4096  # points of the training data that are compared at a time
OPERATIONS = 4e11  # about ten seconds of two cores
PER_SECOND = 4e10  # of two cores, about
SHARE = 0.05  # of the time of pilots and remedies, at most
FEWEST = 16  # points of a class that are always asked


@explained
def nearest_neighbours(
    samples: ForecastSamples,
    designs: Sequence[Design],
    device: torch.device,
    operations: float = OPERATIONS,
) -> ScoreTable:
    """Whether the nearest point of the training data has the class of a new sample, where its class lacks it.

    Args:
        samples: Known and new samples.
        designs: What the training data holds and lacks; each new sample is asked once for each.
        device: Device to compute on.
        operations: Most multiplications and additions; with more, fewer points are asked.

    Returns:
        Empty without new samples.
    """
    shape = designs[0].missing.shape
    total, count = (
        torch.zeros(shape.numel(), dtype=torch.float64),
        torch.zeros(shape.numel(), dtype=torch.int64),
    )
    new, known = samples.new, samples.known
    if new is not None:
        points, fresh = (one.points.flatten(0, 1).flatten(1) for one in (known, new))
        owners = known.positions.repeat_interleave(samples.order)
        for design in designs:
            seen = design.seen.flatten()
            asked = design.missing[new.positions]
            cost = 2.0 * int(seen.sum()) * points.shape[1] * int(asked.sum())
            points_asked = asked.sum(1).long()
            of_class = torch.zeros(samples.classes, dtype=torch.int64).index_add(
                0, new.positions, points_asked
            )
            most = max(FEWEST, int(operations / cost * int(of_class.max())) if cost else 0)
            at = spread_points(asked, new.positions, most).flatten().nonzero()[:, 0]
            nearest = _nearest(fresh[at].to(device), points[seen].to(device)).cpu()
            position = new.positions[at // samples.order]
            cells = position * samples.order + at % samples.order
            total.index_add_(0, cells, (owners[seen][nearest] == position).double())
            count += cells.bincount(minlength=shape.numel())
    return ScoreTable(total.reshape(shape), count.reshape(shape))


def affordable_operations(seconds: float) -> float:
    """How many operations may go into neighbours where pilots and remedies take so many seconds.

    >>> affordable_operations(1.0) < affordable_operations(60.0) < affordable_operations(1e6) == OPERATIONS
    True
    """
    return min(OPERATIONS, SHARE * PER_SECOND * seconds)


def _nearest(asked: Float[Tensor, "k d"], points: Float[Tensor, "p d"]) -> Int64[Tensor, "k"]:
    """The position of the nearest point to each, by `|x|^2 - 2 x a` in pieces."""
    best = torch.full((len(asked),), torch.inf, device=asked.device)
    at = torch.zeros(len(asked), dtype=torch.int64, device=asked.device)
    for start in range(0, len(points), PIECE):
        piece = points[start : start + PIECE]
        distance, where = (piece.square().sum(1) - 2 * asked @ piece.T).min(1)
        nearer = distance < best
        best, at = torch.where(nearer, distance, best), torch.where(nearer, where + start, at)
    return at
