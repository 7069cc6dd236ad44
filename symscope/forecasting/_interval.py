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

    `mean +- t s sqrt(1 + 1/draws)`. s is the spread of a draw's mean: between draws, or what the scatter of
    items within groups makes of it, `sqrt(sum_c v_c / items) / groups`, if that is larger. t is the 97.5 %
    quantile of Student's distribution with `groups + draws - 2` degrees of freedom: the items of a draw share
    their training data, so that a group counts as one observation, and a draw as another, not every item.

    Args:
        explained: For each draw and group; groups that were not asked are NaN.
        spread: Standard deviation over items of a group of what is explained of each.
        per_group: Items of each group in a draw.

    >>> import torch
    >>> scores = torch.tensor([[0.5, 0.4, 0.6], [0.5, 0.5, 0.5]])
    >>> [round(end, 2) for end in explained_interval(scores, torch.full((2, 3), 0.2), per_group=4)]
    [0.27, 0.73]
    """
    there = ~explained.isnan().any(0)
    asked, inside = explained[:, there], spread[:, there]
    draws, groups = asked.shape
    if per_group > 1:
        variance = inside.square().mean(0) / per_group
    else:  # nothing within groups: the scatter of all items, which holds that between groups too
        variance = asked.var().expand(groups) if asked.numel() > 1 else asked.new_full((groups,), math.inf)
    size = float(variance.sum().sqrt()) / groups
    if draws > 1:
        size = max(size, float(asked.mean(1).std()))
    quantile = float(stats.t.ppf(0.975, max(1, groups + draws - 2)))
    reach = quantile * size * math.sqrt(1 + 1 / draws)
    mean = float(asked.mean())
    return mean - reach, min(1.0, mean + reach)
