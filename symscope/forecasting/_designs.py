"""Which trainings answer a question: the true ones, or one in which every class lacks another element.

Where class c lacks an element that the other classes have, each hole is nearly the same question as if it
were the only one. The sweep over classes, which takes a training for each, then takes one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from symscope.forecasting._sample_split import ForecastSamples
from symscope.groups import FiniteGroup
from symscope.numerics import explained

CROWDED = 8  # elements below which only half of the classes lack one: the others show the group whole


@final
@dataclass(frozen=True, eq=False)
class Design:
    """One training: what it sees, and what it is asked.

    Attributes:
        seen: Points of the known samples in the training data.
        missing: Classes and elements that it lacks, wholly or for some samples.
    """

    seen: Bool[Tensor, "m n"]
    missing: Bool[Tensor, "c n"]

    def __repr__(self) -> str:
        return (
            f"Design({int(self.seen.sum())} of {self.seen.numel()} points, {int(self.missing.sum())} holes)"
        )


@explained
def true_designs(samples: ForecastSamples, group: FiniteGroup, most: int | None = None) -> list[Design]:
    """The trainings a user would run: one with the coverage, or one for each class that lacks the identity.

    Args:
        samples: Known samples and their coverage.
        group: Group that acts.
        most: Classes of the sweep at most, spread evenly; all by default.
    """
    if samples.coverage is not None:
        return [_design(samples, samples.coverage.seen)]
    classes = samples.classes
    chosen = torch.linspace(0, classes - 1, min(most or classes, classes)).round().long().unique().tolist()
    return [_holes(samples, {c: group.identity}) for c in chosen]


@explained
def interleaved_designs(samples: ForecastSamples, group: FiniteGroup, shift: int = 0) -> list[Design]:
    """As few trainings as leave an element out of every class once; the coverage itself where there is one.

    Args:
        samples: Known samples and their coverage.
        group: Group that acts.
        shift: Class c lacks element c + shift, so that another shift asks about other elements.
    """
    if samples.coverage is not None:
        return true_designs(samples, group)
    parts = 1 if group.order >= CROWDED else 2
    classes = range(samples.classes)
    return [
        _holes(samples, {c: (c // parts + shift) % group.order for c in classes if c % parts == part})
        for part in range(min(parts, samples.classes))
    ]


def _holes(samples: ForecastSamples, holes: dict[int, int]) -> Design:
    seen = torch.ones(len(samples.known), samples.order, dtype=torch.bool)
    for position, element in holes.items():
        seen[samples.known.positions == position, element] = False
    return _design(samples, seen)


def _design(samples: ForecastSamples, seen: Bool[Tensor, "m n"]) -> Design:
    return Design(seen, class_table(~seen, samples.known.positions, samples.classes).bool())


def class_table(
    values: Bool[Tensor, "m n"] | Int64[Tensor, "m n"], positions: Int64[Tensor, "m"], classes: int
) -> Int64[Tensor, "c n"]:
    """Sums over the samples of each class.

    >>> class_table(torch.tensor([[True, False], [True, True]]), torch.tensor([1, 1]), 2).tolist()
    [[0, 0], [2, 1]]
    """
    return torch.zeros(classes, values.shape[1], dtype=torch.int64).index_add(0, positions, values.long())
