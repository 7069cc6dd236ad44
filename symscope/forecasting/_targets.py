"""Numbers to predict: standardised, and put into groups that take the place of classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from symscope.data import LabelledData, MeasuredData
from symscope.errors import InputError
from symscope.forecasting._short_repr import short_repr
from symscope.numerics import out_of_range

MOST_GROUPS = 5
FEWEST_SAMPLES = 4  # two groups of two: with fewer, the uncertainty cannot be estimated
PARTS = {2: "half", 3: "third", 4: "quarter", 5: "fifth"}
CONSTANT = 1e-12  # standard deviation over the largest number: below it is rounding


@final
@dataclass(frozen=True, eq=False)
class Targets:
    """The numbers to predict for some samples.

    Attributes:
        values: Numbers in their own units.
        mean: Mean of each number over all samples of the data, not only these.
        scale: Standard deviation over all samples of the data.
    """

    values: Float[Tensor, "m t"]
    mean: Float[Tensor, "t"]
    scale: Float[Tensor, "t"]

    __repr__ = short_repr

    @property
    def standardised(self) -> Float[Tensor, "m t"]:
        """Minus the mean, over the scale: what the network is trained on."""
        return (self.values - self.mean) / self.scale

    @property
    def variance(self) -> float:
        """The mean squared distance of the standardised numbers of these samples from their own mean.

        >>> values = torch.tensor([[1.0, 0.0], [3.0, 4.0]])
        >>> Targets(values, torch.zeros(2), torch.tensor([1.0, 2.0])).variance
        2.0
        """
        return float(self.standardised.var(0, correction=0).sum())

    def take(self, samples: Int64[Tensor, "k"]) -> Targets:
        """The numbers of the samples at these positions."""
        return replace(self, values=self.values[samples])

    def in_units(self, outputs: Float[Tensor, "p t"]) -> Float[Tensor, "p t"]:
        """A network's outputs in the numbers' own units."""
        return outputs * self.scale + self.mean


def grouped(data: MeasuredData) -> tuple[LabelledData, Targets]:
    """Samples labelled by groups of equal size, lowest numbers first, and their numbers.

    Up to five groups; of two samples at least. Several numbers are ordered by their first principal
    component, each number standardised first. Equal numbers may fall into two groups, in the order of the
    data.

    Raises:
        InputError: Fewer than four samples, or a number that is the same for all.

    >>> x = torch.eye(6)
    >>> grouped(MeasuredData(x, torch.tensor([5.0, 1.0, 4.0, 0.0, 3.0, 9.0]), "six", "typed"))[0].labels
    tensor([2, 0, 1, 0, 1, 2])
    """
    if len(data) < FEWEST_SAMPLES:
        raise InputError(
            f"{data.name}: expected {FEWEST_SAMPLES} samples or more with numbers to predict, got "
            f"{len(data)}; with fewer, the forecast's uncertainty cannot be estimated."
        )
    values = data.targets.double()
    largest = values.abs().amax(0)
    extreme, allowed = out_of_range(largest)
    if bool(extreme.any()):
        raise InputError(
            f"{data.name}: expected targets whose largest number is {allowed}, so that their squares are "
            f"numbers too, got {float(largest[extreme][0]):.0e}; use other units."
        )
    mean, scale = values.mean(0), values.std(0, correction=0)
    constant = (scale <= CONSTANT * values.abs().amax(0)).nonzero()[:, 0].tolist()
    if constant:
        which = (
            "the target" if values.shape[1] == 1 else f"target {constant[0]} (of 0 .. {values.shape[1] - 1})"
        )
        raise InputError(
            f"{data.name}: {which} is {float(values[0, constant[0]]):g} for every sample, so that there is "
            "nothing to predict; leave it out."
        )
    targets = Targets(values, mean, scale)
    groups = min(MOST_GROUPS, len(data) // 2)
    rank = torch.empty(len(data), dtype=torch.int64)
    rank[_key(targets.standardised).argsort(stable=True)] = torch.arange(len(data))
    return LabelledData(data.x, rank * groups // len(data), data.name, data.source), targets


def group_names(count: int) -> tuple[str, ...]:
    """Names of so many groups in tables, lowest first.

    >>> group_names(3)
    ('lowest third', 'middle third', 'highest third')
    """
    between = {2: [], 3: ["middle"], 4: ["second", "third"], 5: ["second", "middle", "fourth"]}[count]
    return tuple(f"{which} {PARTS[count]}" for which in ["lowest", *between, "highest"])


def _key(values: Float[Tensor, "n t"]) -> Float[Tensor, "n"]:
    """What samples are ordered by: the number itself, or the first principal component of several."""
    if values.shape[1] == 1:
        return values[:, 0]
    direction = torch.linalg.svd(values, full_matrices=False).Vh[0]
    # the largest weight is made positive, so that "highest" means high there
    return values @ (direction * direction[direction.abs().argmax()].sign())
