"""Which points a trained network is asked at: some of each class, spread over its samples and elements."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from symscope.numerics import explained


@explained
def first_of_each(positions: Int64[Tensor, "m"], most: int) -> Bool[Tensor, "m"]:
    """Whether a sample is among the first so many of its class.

    >>> first_of_each(torch.tensor([0, 1, 0, 0]), 2).tolist()
    [True, True, True, False]
    """
    return _places(positions) < most


@explained
def spread_points(mask: Bool[Tensor, "m n"], positions: Int64[Tensor, "m"], most: int) -> Bool[Tensor, "m n"]:
    """Of the points of a mask at most so many of each class: of many samples at different elements.

    The first samples of a class have one point each, at elements that change from sample to sample, before
    any has a second one: points of one sample say less together than those of several.

    Args:
        mask: Points to choose from, samples by elements.
        positions: Class of each sample.
        most: Points of a class at most.

    >>> everything = torch.ones(3, 3, dtype=torch.bool)
    >>> spread_points(everything, torch.tensor([0, 0, 1]), 2).int().tolist()
    [[1, 0, 0], [0, 1, 0], [1, 1, 0]]
    """
    counts, place = mask.sum(1, keepdim=True), _places(positions)[:, None]
    turn = (mask.long().cumsum(1) - 1 - place) % counts.clamp(min=1)  # of a sample's own points
    order = torch.where(mask, turn * len(mask) + place, mask.numel())
    chosen = torch.zeros_like(mask).flatten()
    for position in positions.unique():
        own = (positions == position).nonzero()[:, 0]
        first = order[own].flatten().argsort(stable=True)[:most]
        chosen[own[first // mask.shape[1]] * mask.shape[1] + first % mask.shape[1]] = True
    return chosen.reshape(mask.shape) & mask


def _places(positions: Int64[Tensor, "m"]) -> Int64[Tensor, "m"]:
    """The place of each sample among those of its class."""
    order = positions.argsort(stable=True)
    counts = positions.bincount()
    starts = counts.cumsum(0) - counts
    place = torch.empty_like(positions)
    place[order] = torch.arange(len(positions)) - starts[positions[order]]
    return place
