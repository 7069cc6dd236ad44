"""Numbers to predict: under every element, standardised, and in groups that take the place of classes.

Everything that trains on numbers or scores them takes those of a point, sample and element, from here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from symscope.data import Action, LabelledData, MeasuredData
from symscope.errors import InputError
from symscope.forecasting._orbit_points import action_orbit
from symscope.forecasting._short_repr import short_repr
from symscope.numerics import check_memory, out_of_range

if TYPE_CHECKING:
    from symscope.forecasting._question import Question

MOST_GROUPS = 5
FEWEST_SAMPLES = 4  # two groups of two: with fewer, the uncertainty cannot be estimated
PARTS = {2: "half", 3: "third", 4: "quarter", 5: "fifth"}
SAME = 1e-6  # difference of targets over the largest, below which it is rounding
CONSTANT = 1e-12  # standard deviation over the largest number: below it is rounding


@final
@dataclass(frozen=True, eq=False)
class Targets:
    """The numbers to predict for some samples.

    Attributes:
        values: `values[s, g]`, numbers of sample s under element g, in their own units; one g where no
            element changes them.
        mean: Mean of each number over all samples of the data, not only these, under all elements.
        scale: Standard deviation of each number over all samples of the data; one for all numbers where
            elements mix them.
        positions: Positions of maps, over which errors in own units are averaged; 1 for others.
        classes: Classes of masks, of which the numbers are shares at each position, neither centred nor
            scaled; 0 for plain numbers.
    """

    values: Float[Tensor, "m e t"]
    mean: Float[Tensor, "t"]
    scale: Float[Tensor, "t"]
    positions: int = 1
    classes: int = 0

    __repr__ = short_repr

    @property
    def moves(self) -> bool:
        """Whether elements change them."""
        return self.values.shape[1] > 1

    @property
    def standardised(self) -> Float[Tensor, "m e t"]:
        """Minus the mean, over the scale: what the network is trained on."""
        return self.standard(self.values)

    def standard(self, values: Float[Tensor, "*p t"]) -> Float[Tensor, "*p t"]:
        """Numbers in their own units as a network's outputs; the inverse of `in_units`."""
        return (values - self.mean) / self.scale

    @property
    def variance(self) -> float:
        """The mean squared distance of the standardised numbers of these samples from their own mean.

        >>> values = torch.tensor([[[1.0, 0.0]], [[3.0, 4.0]]])
        >>> Targets(values, torch.zeros(2), torch.tensor([1.0, 2.0])).variance
        2.0
        """
        return float(self.standardised.flatten(0, 1).var(0, correction=0).sum())

    def at(self, samples: Int64[Tensor, "p"], elements: Int64[Tensor, "p"]) -> Float[Tensor, "p t"]:
        """The numbers of points, in their own units."""
        return self.values[samples, elements if self.moves else torch.zeros_like(elements)]

    def take(self, samples: Int64[Tensor, "k"]) -> Targets:
        """The numbers of the samples at these positions."""
        return replace(self, values=self.values[samples])

    def typical_error(self, square: float) -> float:
        """The root mean square error in own units, of a mean squared distance of outputs in own units."""
        return math.sqrt(max(0.0, square) / self.positions)

    def mask_sizes(self, rows: Float[Tensor, "p t"]) -> Float[Tensor, "p"]:
        """How many positions of each mask are of another class than the most common one of the samples.

        >>> rows = torch.tensor([[1.0, 1, 0, 0, 0, 1], [1, 0, 0, 0, 1, 1]])  # two classes, three positions
        >>> nothing = torch.zeros(6)
        >>> Targets(torch.tensor([[[1.0, 1, 1, 0, 0, 0]]]), nothing, nothing + 1, 3, 2).mask_sizes(rows)
        tensor([1., 2.])
        """
        places = (self.classes, -1)
        common = self.values[:, 0].unflatten(1, places).sum((0, 2)).argmax()
        return (rows.unflatten(1, places).argmax(1) != common).sum(1).to(rows.dtype)

    def in_units(self, outputs: Float[Tensor, "*p t"]) -> Float[Tensor, "*p t"]:
        """A network's outputs in the numbers' own units."""
        return outputs * self.scale + self.mean


def grouped(data: MeasuredData, action: Action | None = None) -> tuple[LabelledData, Targets]:
    """Samples labelled by groups of equal size, lowest numbers first, and their numbers.

    Up to five groups; of two samples at least. Several numbers are ordered by their first principal
    component, each number standardised first; numbers that elements change by their size, the distance from
    the mean. Equal numbers may fall into two groups, in the order of the data.

    Args:
        data: Samples with numbers.
        action: Group action on the rows of numbers; None where no element changes them.

    Raises:
        InputError: Fewer than four samples, a number that is the same for all, or an action that fails.

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
    constant = bool(data.classes)  # masks: a corner may be background everywhere
    targets = _unchanged(values, data.name, constant) if action is None else _moved(values, action, data.name)
    key = _key(targets.standardised[:, 0]) if action is None else (values - targets.mean).norm(dim=1)
    if data.classes:
        targets = _masks(targets, data.classes)
        key = targets.mask_sizes(values)
    if len(data.target_shape) > 1:
        targets = replace(targets, positions=values.shape[1])
    groups = min(MOST_GROUPS, len(data) // 2)
    rank = torch.empty(len(data), dtype=torch.int64)
    rank[key.argsort(stable=True)] = torch.arange(len(data))
    return LabelledData(data.x, rank * groups // len(data), data.name, data.source), targets


def _masks(targets: Targets, classes: int) -> Targets:
    """Shares of classes, as they are."""
    nothing = torch.zeros_like(targets.mean)
    return replace(targets, mean=nothing, scale=nothing + 1, classes=classes)


def _unchanged(values: Float[Tensor, "m t"], name: str, may_be_constant: bool = False) -> Targets:
    """Numbers that no element changes, each with its own mean and scale."""
    mean, scale = values.mean(0), values.std(0, correction=0)
    if may_be_constant:
        return Targets(values[:, None], mean, scale)
    constant = (scale <= CONSTANT * values.abs().amax(0)).nonzero()[:, 0].tolist()
    if constant:
        which = (
            "the target" if values.shape[1] == 1 else f"target {constant[0]} (of 0 .. {values.shape[1] - 1})"
        )
        raise InputError(
            f"{name}: {which} is {float(values[0, constant[0]]):g} for every sample, so that there is "
            "nothing to predict; leave it out."
        )
    return Targets(values[:, None], mean, scale)


def _moved(values: Float[Tensor, "m t"], action: Action, name: str) -> Targets:
    """Numbers under every element.

    The mean over orbits is one that no element changes, and one scale for all numbers commutes with every
    linear action: standardised numbers transform as the numbers do.
    """
    count = values.numel() * action.group.order
    check_memory("targets under every element", 2 * 8 * count, "take fewer samples (--limit)")
    moved = action_orbit(action, values)
    mean = moved.mean((0, 1))
    scale = (moved - mean).square().mean().sqrt()
    if float(scale) <= CONSTANT * float(values.abs().max()):
        raise InputError(
            f"{name}: the targets are the same for every sample under every element, so that there is "
            "nothing to predict."
        )
    return Targets(moved, mean, scale.expand(len(mean)))


def kept_targets(
    question: Question,
    targets: Targets,
    fixing: Sequence[Int64[Tensor, "_"]],
    indices: Int64[Tensor, "m"],
) -> Targets:
    """Targets of which those at points that coincide are the same to the last digit.

    Args:
        question: Names of the data and of elements.
        targets: Numbers of the samples.
        fixing: Elements that keep each sample.
        indices: Position of each sample in the data.

    Raises:
        InputError: A sample that an element keeps while it changes its numbers: no function gives both.
    """
    if not targets.moves or all(len(kept) == 1 for kept in fixing):
        return targets
    group, values = question.group, targets.values.clone()
    allowed = SAME * float(values.abs().max())
    for s, kept in enumerate(fixing):
        away = (values[s, kept] - values[s, group.identity]).abs().amax(1)
        if float(away.max()) > allowed:
            which = int(indices[s] if question.sources is None else question.sources[indices[s]])
            element = question.element_names[int(kept[int(away.argmax())])]
            raise InputError(
                f"{question.data.name}: sample {which} is the same under {element}, which changes its "
                "target, so that no network can predict both; leave it out, or choose another target action."
            )
        if len(kept) > 1:
            values[s] = values[s][group.table[:, kept]].mean(1)  # over the elements g h that give one point
    return replace(targets, values=values)


def group_names(count: int, by_size: bool = False) -> tuple[str, ...]:
    """Names of so many groups in tables, lowest first, or smallest.

    >>> group_names(3), group_names(2, by_size=True)
    (('lowest third', 'middle third', 'highest third'), ('smallest half', 'largest half'))
    """
    between = {2: [], 3: ["middle"], 4: ["second", "third"], 5: ["second", "middle", "fourth"]}[count]
    first, last = ("smallest", "largest") if by_size else ("lowest", "highest")
    return tuple(f"{which} {PARTS[count]}" for which in [first, *between, last])


def _key(values: Float[Tensor, "n t"]) -> Float[Tensor, "n"]:
    """What samples are ordered by: the number itself, or the first principal component of several."""
    if values.shape[1] == 1:
        return values[:, 0]
    direction = torch.linalg.svd(values, full_matrices=False).Vh[0]
    # the largest weight is made positive, so that "highest" means high there
    return values @ (direction * direction[direction.abs().argmax()].sign())
