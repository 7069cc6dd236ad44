"""Missing sets: which group elements of which orbits are left out together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Int64, Shaped
from torch import Tensor

from symscope.errors import InputError
from symscope.groups import FiniteGroup, check_finite_group
from symscope.numerics import checked
from symscope.spectral.irrep_blocks import Quotient


@final
@dataclass(frozen=True, eq=False)
class MissingSet:
    """The points one training run does not see.

    Attributes:
        samples: Sample whose orbit holds each missing point.
        elements: Group element of each missing point.
        owners: The orbits that occur, each once.
        position: Position of each point's orbit in `owners`.
    """

    samples: Int64[Tensor, "p"]
    elements: Int64[Tensor, "p"]
    owners: Int64[Tensor, "q"]
    position: Int64[Tensor, "p"]

    @property
    def one_element(self) -> bool:
        """Whether the same element is missing everywhere: then only real parts are needed."""
        return bool((self.elements == self.elements[0]).all())


@checked
def class_masks(classes: Int64[Tensor, "m"], group: FiniteGroup, element: int = 0) -> Bool[Tensor, "c m n"]:
    """Each class in turn without one element of its orbits: one missing set per class, in increasing order.

    Args:
        classes: The class of each sample.
        group: The group.
        element: The element that is missing; the samples themselves by default.

    Raises:
        InputError: No such element, or classes that are not whole numbers in one row.

    >>> from symscope.groups import cyclic
    >>> class_masks(torch.tensor([4, 7, 4]), cyclic(2)).int().tolist()
    [[[1, 0], [0, 0], [1, 0]], [[0, 0], [1, 0], [0, 0]]]
    """
    check_sample_classes(classes)
    if not 0 <= element < check_finite_group(group).order:
        raise InputError(f"expected an element of {group.name}, 0 to {group.order - 1}, got {element}")
    which = classes.unique()
    masks = torch.zeros(len(which), len(classes), group.order, dtype=torch.bool)
    masks[:, :, element] = which[:, None].cpu() == classes.cpu()
    return masks


def check_sample_classes(classes: Shaped[Tensor, "*shape"], samples: int | None = None) -> None:
    """Refuses classes that are not whole numbers, one per sample.

    Raises:
        InputError: No tensor, another shape or kind of numbers, none, or not as many as samples.
    """
    kind = classes.dtype
    if classes.ndim != 1 or kind.is_floating_point or kind.is_complex or kind == torch.bool:
        raise InputError(
            f"classes: expected whole numbers in one row, one per sample; got {kind} of shape "
            f"{tuple(classes.shape)}"
        )
    if len(classes) == 0:
        raise InputError("classes: expected one sample or more, got none")
    if samples is not None and len(classes) != samples:
        raise InputError(f"expected one class per sample, {samples}; got {len(classes)}")


@checked
def missing_sets(
    missing: Shaped[Tensor, "*sets samples elements"], group: FiniteGroup, points: Quotient
) -> tuple[MissingSet, ...]:
    """The missing sets of masks, one point for all elements that give it.

    Args:
        missing: `[m, |G|]` for one set, `[sets, m, |G|]` for several.
        group: The group.
        points: Which points are different.

    Raises:
        InputError: Masks of another shape, or a set that is empty or holds every point.
    """
    samples = len(points.stabiliser_orders)
    if missing.ndim not in (2, 3) or missing.shape[-2:] != (samples, group.order):
        raise InputError(
            f"missing: expected a mask [{samples} samples, {group.order} elements of {group.name}], or "
            f"several, [sets, {samples}, {group.order}]; got shape {tuple(missing.shape)}"
        )
    if missing.dtype != torch.bool:
        raise InputError(f"missing: expected a mask of True and False, got {missing.dtype}; use mask != 0")
    masks = missing.cpu().reshape(-1, samples, group.order)
    if len(masks) == 0:
        raise InputError("missing: expected at least one set, got none")
    total = int((group.order // points.stabiliser_orders).sum())
    result = []
    for number, mask in enumerate(masks):
        marked = torch.zeros_like(mask)
        where = mask.nonzero()
        marked[where[:, 0], points.representative[where[:, 0], where[:, 1]]] = True
        s, g = marked.nonzero().T
        named = "the missing set" if len(masks) == 1 else f"missing set {number}"
        if len(s) == 0:
            raise InputError(f"{named} is empty: mark at least one point to leave out")
        if len(s) == total:
            raise InputError(f"{named} holds all {total} points: nothing is left to learn from")
        owners, position = s.unique(return_inverse=True)
        result.append(MissingSet(s, g, owners, position))
    return tuple(result)
