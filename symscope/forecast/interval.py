"""How far new draws of items may fall from a forecast."""

from __future__ import annotations

import math

from jaxtyping import Float
from scipy import stats
from torch import Tensor

Z_975 = 1.96


def interval(class_accuracy: Float[Tensor, "draws c"], per_class: int) -> tuple[float, float]:
    """Where 95 % of the mean accuracies of new draws should lie, within 0 and 1.

    `mean +- 1.96 s sqrt(1 + 1/draws)`, where s is the spread over draws, or what the chance of drawing so few
    items makes of the classes' accuracies, `sqrt(sum_c p_c (1 - p_c) / items) / classes`, if that is larger.

    Args:
        class_accuracy: For each draw and class; classes that were not asked are NaN.
        per_class: Items of each class in a draw.

    >>> import torch
    >>> [round(end, 2) for end in interval(torch.tensor([[0.5, 0.5], [0.5, 0.5]]), per_class=8)]
    [0.2, 0.8]
    """
    asked = class_accuracy[:, ~class_accuracy.isnan().any(0)]
    draws, classes = asked.shape
    trials = draws * per_class
    share = (asked.sum(0) * per_class + 1) / (trials + 2)  # never quite 0 or 1
    spread = float((share * (1 - share) / per_class).sum().sqrt()) / classes
    if draws > 1:
        spread = max(spread, float(asked.mean(1).std()))
    mean, reach = float(asked.mean()), Z_975 * spread * math.sqrt(1 + 1 / draws)
    return max(0.0, mean - reach), min(1.0, mean + reach)


def explained_interval(
    explained: Float[Tensor, "draws c"], spread: Float[Tensor, "draws c"], per_group: int
) -> tuple[float, float]:
    """Where 95 % of the explained variations of new draws should lie, at most 1.

    `mean +- t s sqrt(1 + 1/draws)`, t the 97.5 % quantile of Student's distribution. Two estimates of the
    spread s of a draw's mean: between draws, with `draws - 1` degrees of freedom, and from items,
    `sqrt(sum_c v_c / items) / groups` with v_c the variance of items' scores in group c, with
    `draws groups (items - 1)` of them. The one with the larger s is taken for s, the second one's freedom for
    t, as that is the one there is enough of.

    Args:
        explained: For each draw and group; groups that were not asked are NaN.
        spread: Standard deviation over items of a group of what is explained of each.
        per_group: Items of each group in a draw.

    >>> import torch
    >>> ends = explained_interval(torch.tensor([[0.5, 0.4]]), torch.tensor([[0.2, 0.1]]), per_group=5)
    >>> [round(end, 2) for end in ends]
    [0.29, 0.61]
    """
    there = ~explained.isnan().any(0)
    asked, inside = explained[:, there], spread[:, there]
    draws, groups = asked.shape
    if per_group > 1:
        variance, freedom = inside.square().mean(0) / per_group, draws * groups * (per_group - 1)
    else:  # nothing within groups: the scatter of all items, which holds that between groups too
        variance = asked.var().expand(groups) if asked.numel() > 1 else asked.new_full((groups,), math.inf)
        freedom = max(1, asked.numel() - 1)
    size = float(variance.sum().sqrt()) / groups
    if draws > 1:
        size = max(size, float(asked.mean(1).std()))
    reach = float(stats.t.ppf(0.975, freedom)) * size * math.sqrt(1 + 1 / draws)
    mean = float(asked.mean())
    return mean - reach, min(1.0, mean + reach)
