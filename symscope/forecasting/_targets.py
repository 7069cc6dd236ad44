"""Numbers to predict as a forecast takes them: standardised, and put into groups that take classes' place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from symscope.data import LabelledData, MeasuredData
from symscope.errors import InputError

MOST_GROUPS = 5
FEWEST_ITEMS = 4  # two groups of two: with fewer there is nothing to say how sure a forecast is
PARTS = {2: "half", 3: "third", 4: "quarter", 5: "fifth"}
CONSTANT = 1e-12  # standard deviation over the largest number: below it is rounding


@final
@dataclass(frozen=True, eq=False)
class Targets:
    """The numbers of some items.

    Attributes:
        values: In their own units.
        mean: Of each number over all items of the data, not only these.
        scale: The standard deviation over all items.
    """

    values: Float[Tensor, "m t"]
    mean: Float[Tensor, "t"]
    scale: Float[Tensor, "t"]

    @property
    def standardised(self) -> Float[Tensor, "m t"]:
        """Minus the mean, over the scale: what the network is asked for."""
        return (self.values - self.mean) / self.scale

    @property
    def variance(self) -> float:
        """The mean squared distance of the standardised numbers of these items from their own mean.

        >>> values = torch.tensor([[1.0, 0.0], [3.0, 4.0]])
        >>> Targets(values, torch.zeros(2), torch.tensor([1.0, 2.0])).variance
        2.0
        """
        return float(self.standardised.var(0, correction=0).sum())

    def take(self, items: Int64[Tensor, "k"]) -> Targets:
        """The numbers of the items at these positions."""
        return replace(self, values=self.values[items])

    def in_units(self, outputs: Float[Tensor, "p t"]) -> Float[Tensor, "p t"]:
        """What a network says, in the numbers' own units."""
        return outputs * self.scale + self.mean


def grouped(data: MeasuredData) -> tuple[LabelledData, Targets]:
    """Items labelled by groups of equal size, lowest numbers first, and their numbers.

    Up to five groups; of two items at least. Several numbers are ordered by their first principal component,
    each number standardised first. Equal numbers may fall into two groups, in the order of the data.

    Raises:
        InputError: Fewer than four items, or a number that is the same for all.

    >>> x = torch.eye(6)
    >>> grouped(MeasuredData(x, torch.tensor([5.0, 1.0, 4.0, 0.0, 3.0, 9.0]), "six", "typed"))[0].labels
    tensor([2, 0, 1, 0, 1, 2])
    """
    if len(data) < FEWEST_ITEMS:
        raise InputError(
            f"{data.name}: expected {FEWEST_ITEMS} items or more with numbers to predict, got {len(data)}; "
            "nothing can be said about how sure a forecast is."
        )
    values = data.targets.double()
    mean, scale = values.mean(0), values.std(0, correction=0)
    constant = (scale <= CONSTANT * values.abs().amax(0)).nonzero()[:, 0].tolist()
    if constant:
        which = (
            "the target" if values.shape[1] == 1 else f"target {constant[0]} (of 0 .. {values.shape[1] - 1})"
        )
        raise InputError(
            f"{data.name}: {which} is {float(values[0, constant[0]]):g} for every item, so that there is "
            "nothing to predict; leave it out."
        )
    targets = Targets(values, mean, scale)
    groups = min(MOST_GROUPS, len(data) // 2)
    rank = torch.empty(len(data), dtype=torch.int64)
    rank[_key(targets.standardised).argsort(stable=True)] = torch.arange(len(data))
    return LabelledData(data.x, rank * groups // len(data), data.name, data.source), targets


def group_names(count: int) -> tuple[str, ...]:
    """What tables call so many groups, lowest first.

    >>> group_names(3)
    ('lowest third', 'middle third', 'highest third')
    """
    between = {2: [], 3: ["middle"], 4: ["second", "third"], 5: ["second", "middle", "fourth"]}[count]
    return tuple(f"{which} {PARTS[count]}" for which in ["lowest", *between, "highest"])


def _key(values: Float[Tensor, "n t"]) -> Float[Tensor, "n"]:
    """What items are ordered by: the number itself, or the first principal component of several."""
    if values.shape[1] == 1:
        return values[:, 0]
    direction = torch.linalg.svd(values, full_matrices=False).Vh[0]
    # the largest weight is made positive, so that "highest" means high there
    return values @ (direction * direction[direction.abs().argmax()].sign())
