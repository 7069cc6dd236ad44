"""Which elements keep a sample, to a stated tolerance."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from symscope.groups import FiniteGroup


def default_tolerance(dtype: torch.dtype) -> float:
    """The square root of the machine epsilon; 0 for integers, which are exact.

    Kernels see squared distances: two points nearer than this give a Gram matrix singular to rounding.

    >>> f"{default_tolerance(torch.float64):.1e}", default_tolerance(torch.uint8)
    ('1.5e-08', 0.0)
    """
    if dtype.is_floating_point or dtype.is_complex:
        return float(torch.finfo(dtype).eps) ** 0.5
    return 0.0


def fixing_elements(
    points: Tensor, x: Tensor, group: FiniteGroup, tolerance: float
) -> tuple[tuple[Int64[Tensor, "_"], ...], Bool[Tensor, "m"]]:
    """For each sample the elements with `|g x - x| <= tolerance |x|`, and whether they are a subgroup.

    Args:
        points: `points[s, g] = g x_s`, `[m, order, *sample]`.
        x: The samples, `[m, *sample]`.
        group: The group.
        tolerance: Relative.

    >>> from symscope.groups import cyclic
    >>> x = torch.tensor([[1.0, 1.0], [1.0, 2.0]])
    >>> fixing_elements(torch.stack([x, x.flip(1)], dim=1), x, cyclic(2), 0.0)
    ((tensor([0, 1]), tensor([0])), tensor([True, True]))
    """
    wide = torch.complex128 if x.is_complex() else torch.float64
    samples = x.to(wide).flatten(1)
    keeps = torch.zeros(len(x), group.order, dtype=torch.bool)
    for g in group.elements:  # one element at a time: a double copy of all points would cost memory
        away = (points[:, g].to(wide).flatten(1) - samples).norm(dim=1)
        keeps[:, g] = (away <= tolerance * samples.norm(dim=1)).cpu()
    keeps[:, group.identity] = True
    kept = tuple(row.nonzero()[:, 0] for row in keeps)
    closed = torch.tensor([len(one) == 1 or len(group.subgroup(one)) == len(one) for one in kept])
    return kept, closed
