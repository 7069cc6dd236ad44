"""How far an action is from a group action by orthogonal maps, as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.data._action import Action
from symscope.errors import InputError
from symscope.numerics import check_finite, checked


@final
@dataclass(frozen=True)
class ActionErrors:
    """What `action_errors` measured; all numbers are relative and 0 for an exact orthogonal action.

    Attributes:
        action: Name of the action.
        group: Name of the group.
        samples: How many samples it was measured on.
        homomorphism: Largest `|g (h x) - (g h) x| / |x|`.
        worst_pair: The elements (g, h) where that is.
        identity: Largest `|e x - x| / |x|`.
        orthogonality: Largest change of the Gram matrix, `|(gX)(gX)^H - X X^H| / |X X^H|` (Frobenius norms).
        worst_element: The element g where that is.
    """

    action: str
    group: str
    samples: int
    homomorphism: float
    worst_pair: tuple[int, int]
    identity: float
    orthogonality: float
    worst_element: int


@checked
def action_errors(action: Action, x: Tensor) -> ActionErrors:
    """Measures, on given samples, how far an action is from a group action by orthogonal maps.

    Every pair of elements is tried: `|G|^2` transforms of each sample, so a few samples are enough.

    Args:
        action: What to measure.
        x: Samples `[m, *sample]`, none of them all zero.

    Raises:
        InputError: No samples, a wrong number of axes, entries that are not finite, or a zero sample.

    >>> from symscope.data import rotation
    >>> image = torch.tensor([[[0.0, 1.0, 4.0], [2.0, 3.0, 0.0], [0.0, 5.0, 0.0]]], dtype=torch.float64)
    >>> action_errors(rotation(4), image).homomorphism
    0.0
    >>> action_errors(rotation(8), image).homomorphism > 0.1
    True
    >>> action_errors(rotation(8, "orthogonal"), image).homomorphism < 1e-12
    True
    """
    if x.ndim != action.sample_ndim + 1 or x.shape[0] == 0:
        raise InputError(
            f"expected samples [m, ...] with {action.sample_ndim} axes each and m >= 1, got shape "
            f"{tuple(x.shape)}."
        )
    norms = _rows(x).norm(dim=-1)
    if bool((norms == 0).any()):
        raise InputError(
            f"expected samples that are not all zero, because what is measured is relative; sample "
            f"{int((norms == 0).nonzero()[0])} is zero."
        )
    orbit = action.act_all(x)
    identity = (_rows(orbit[:, action.group.identity]) - _rows(x)).norm(dim=-1) / norms
    table = action.group.table.to(x.device)
    worst, pair = -1.0, (0, 0)
    for g in action.group.elements:
        apart = _difference(action.act(g, orbit), orbit[:, table[g]])
        error = (apart / norms[:, None]).amax(dim=0)
        if float(error.max()) > worst:
            worst, pair = float(error.max()), (g, int(error.argmax()))
    bent = _gram_change(orbit, x)
    check_finite("inner products of the samples", bent)
    return ActionErrors(
        action.name,
        action.group.name,
        x.shape[0],
        worst,
        pair,
        float(identity.max()),
        float(bent.max()),
        int(bent.argmax()),
    )


def _rows(x: Tensor, keep: int = 1) -> Tensor:
    """Samples flattened to vectors, in double precision."""
    wide = x.to(torch.complex128 if x.is_complex() else torch.float64)
    return wide.reshape(*x.shape[:keep], -1)


def _difference(a: Tensor, b: Tensor) -> Float64[Tensor, "m order"]:
    return (_rows(a, 2) - _rows(b, 2)).norm(dim=-1)


def _gram_change(orbit: Tensor, x: Tensor) -> Float64[Tensor, "order"]:
    before, points = _rows(x), _rows(orbit, 2).movedim(1, 0)
    gram = before @ before.mH
    return (points @ points.mH - gram).flatten(1).norm(dim=1) / gram.norm()
