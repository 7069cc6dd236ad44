"""Which transformations a price list adds to the training data: all, some of them, drawn ones, a range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool
from torch import Tensor

from symscope.forecasting._question import Question
from symscope.groups import FiniteGroup, parse
from symscope.numerics import seeded

SAME_TURN = 1e-9  # distance of matrices of one rotation
FEWEST_DRAWN = 4  # elements of a group of which some are drawn
FEWEST_RANGE = 8  # elements of a group of turns of which a range is tried


@final
@dataclass(frozen=True, eq=False)
class Augmentation:
    """Elements in which every sample is in the training data as well.

    Attributes:
        kind: "spread" evenly over the group, "drawn" for each sample, or a "range" of angles.
        elements: The elements, or those of which some are drawn.
        count: Elements of each sample.
        which: These elements in words.
    """

    kind: str
    elements: Bool[Tensor, "n"]
    count: int
    which: str

    def mask(self, samples: int, seed: int) -> Bool[Tensor, "m n"]:
        """The elements of each of so many samples.

        >>> some = Augmentation("drawn", torch.ones(5, dtype=torch.bool), 2, "2 of 5 elements, drawn,")
        >>> some.mask(3, seed=0).sum(1)
        tensor([2, 2, 2])
        """
        if self.kind != "drawn":
            return self.elements.expand(samples, -1)
        order = torch.rand(samples, len(self.elements), generator=seeded(seed, 87))
        chosen = order.masked_fill(~self.elements, -1.0).topk(self.count, dim=1).indices
        return torch.zeros(order.shape, dtype=torch.bool).scatter(1, chosen, True)


def augmentations(question: Question, has_new: bool) -> list[Augmentation]:
    """What is tried as an augmentation: all elements first, then what is cheaper.

    Every second and fourth of a cyclic group, of the larger rotation groups of space the tetrahedral one; a
    quarter of the elements, drawn for each sample; angles within 90° of upright. None for the sweep, whose
    pilot has shown it already, and without new samples: it would be exact.

    Args:
        question: Group and coverage.
        has_new: Whether new samples are asked about.
    """
    if question.coverage is None or not has_new:
        return []
    group, name = question.group, question.group.name
    rows = [all_elements(question)]
    cyclic = group.cyclic_factors is not None and len(group.cyclic_factors) == 1
    if cyclic:
        steps = [step for step in (2, 4) if group.order % step == 0 and group.order >= 2 * step]
        rows += [_spread(question, torch.arange(group.order) % step == 0) for step in steps]
    elif (solid := _tetrahedral(group)) is not None:
        rows.append(_spread(question, solid))
    if group.order >= FEWEST_DRAWN:
        count = group.order // FEWEST_DRAWN
        which = f"{elements_text(count, group.order)} elements of {name}, drawn at random,"
        rows.append(Augmentation("drawn", torch.ones(group.order, dtype=torch.bool), count, which))
    if cyclic and question.degrees is not None and group.order >= FEWEST_RANGE:
        angle = question.degrees * torch.arange(group.order)
        near = torch.minimum(angle, 360 - angle) <= 90
        count = int(near.sum())
        which = f"{elements_text(count, group.order)} elements of {name}, within 90° of upright,"
        rows.append(Augmentation("range", near, count, which))
    return rows


def all_elements(question: Question) -> Augmentation:
    """Every element of the group."""
    return _spread(question, torch.ones(question.group.order, dtype=torch.bool))


def elements_text(count: int, order: int) -> str:
    """How many elements of a group, in words.

    >>> elements_text(2, 2), elements_text(8, 8), elements_text(2, 8)
    ('both', 'all 8', '2 of 8')
    """
    if count < order:
        return f"{count} of {order}"
    return "both" if order == 2 else f"all {order}"


def ordinal(number: int) -> str:
    """The number of a place.

    >>> [ordinal(one) for one in (2, 3, 4, 21)]
    ['2nd', '3rd', '4th', '21st']
    """
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"


def _spread(question: Question, elements: Bool[Tensor, "n"]) -> Augmentation:
    """Elements spread evenly over a group, and how far apart or which, in words."""
    group, degrees, count = question.group, question.degrees, int(elements.sum())
    which = f"{elements_text(count, group.order)} elements of {group.name}"
    if degrees is not None and group.cyclic_factors is not None:
        which = f"{which}, every {degrees * group.order / count:g}°,"
    elif group.matrices is not None and count < group.order:
        which = f"{which}, the rotations T of the tetrahedron,"
    elif group.cyclic_factors is not None and count < group.order:
        which = f"{which}, every {ordinal(group.order // count)},"
    return Augmentation("spread", elements, count, which)


def _tetrahedral(group: FiniteGroup) -> Bool[Tensor, "n"] | None:
    """Which elements of a larger rotation group of space are those of the tetrahedron."""
    tetrahedral = parse("T")
    assert isinstance(tetrahedral, FiniteGroup)
    assert tetrahedral.matrices is not None
    matrices = group.matrices
    if matrices is None or matrices.shape[-1] != 3 or group.order <= tetrahedral.order:
        return None
    apart = torch.cdist(matrices.flatten(1), tetrahedral.matrices.flatten(1)).amin(1)
    found = apart < SAME_TURN
    return found if int(found.sum()) == tetrahedral.order else None
