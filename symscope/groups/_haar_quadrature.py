"""Averages over compact groups that are exact up to a band limit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.groups.compact import CompactGroup
from symscope.numerics import check_count, check_memory, checked, shortened


@checked
@final
@dataclass(frozen=True)
class Quadrature:
    """Group elements with weights that sum to one: `integral f ~ sum_i weights[i] f(elements[i])`."""

    elements: Float[Tensor, "q n n"]
    weights: Float[Tensor, "q"]

    def average(self, values: Tensor) -> Tensor:
        """The weighted mean of values given along the first axis, one per element.

        Raises:
            InputError: Not as many values as elements.
        """
        if values.ndim < 1 or len(values) != len(self.weights):
            raise InputError(
                f"expected {len(self.weights)} values along the first axis, one per element, got shape "
                f"{tuple(values.shape)}."
            )
        return torch.einsum("q,q...->...", self.weights.to(values.dtype), values)


@checked
def haar_quadrature(group: CompactGroup, band_limit: int) -> Quadrature:
    """The Haar average over SO(2), O(2), SO(3), O(3) or a torus, exact for irreps up to the band limit.

    SO(2): `L + 1` equal angles integrate frequencies up to L. SO(3), Euler angles z-y-z: `L + 1` equal angles
    about each z, and `ceil((L + 1) / 2)` Gauss-Legendre nodes in cos(beta). O(n) takes both components. Tori:
    all combinations of equal angles.

    Args:
        group: One of SO(2), O(2), SO(3), O(3), T<k>.
        band_limit: L >= 0: polynomials of degree up to L in the entries of the matrix are integrated exactly;
            for tori, of degree up to L in each angle.

    Raises:
        InputError: Another group (use `group.sample`), or a negative band limit.

    >>> from symscope.groups.compact import so
    >>> q = haar_quadrature(so(3), 4)
    >>> round(q.average(q.elements[:, 2, 2] ** 4).item(), 14)  # the mean of cos^4 over the sphere is 1/5
    0.2
    """
    if not isinstance(group, CompactGroup):
        raise InputError(f"expected a compact group, such as groups.so(3), got {shortened(group)}.")
    band_limit = check_count("band_limit", band_limit, 0)
    if group.name == f"T{group.dimension}":
        return _torus(group, band_limit)
    makers = {
        "SO(2)": (_circle, False),
        "O(2)": (_circle, True),
        "SO(3)": (_sphere, False),
        "O(3)": (_sphere, True),
    }
    if group.name not in makers:
        raise InputError(
            f"expected SO(2), O(2), SO(3), O(3) or a torus, which have an exact rule, got {group.name}: "
            "average over group.sample(count, generator) instead."
        )
    make, reflections = makers[group.name]
    check_memory(
        f"the rule for {group.name} of band limit {shortened(band_limit)}",
        8 * group.size**2 * (band_limit + 1) ** (1 if make is _circle else 3),
        "take a smaller band limit",
    )
    elements, weights = make(band_limit)
    if reflections:
        elements = torch.cat([elements, elements @ group.generators[0]])
        weights = torch.cat([weights, weights]) / 2
    return Quadrature(elements, weights)


def _circle(band_limit: int) -> tuple[Tensor, Tensor]:
    count = band_limit + 1
    angles = 2 * math.pi * torch.arange(count, dtype=torch.float64) / count
    c, s = angles.cos(), angles.sin()
    elements = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)
    return elements, torch.full((count,), 1 / count, dtype=torch.float64)


def _torus(group: CompactGroup, band_limit: int) -> Quadrature:
    count = (band_limit + 1) ** group.dimension
    check_memory(
        f"the rule for {group.name} of band limit {shortened(band_limit)}",
        8 * group.size**2 * count,
        "take a smaller band limit",
    )
    turns, _ = _circle(band_limit)
    angles = torch.arange(len(turns))
    grid = torch.cartesian_prod(*(angles,) * group.dimension).reshape(count, group.dimension)
    elements = torch.zeros(count, group.size, group.size, dtype=torch.float64)
    for i in range(group.dimension):
        elements[:, 2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = turns[grid[:, i]]
    return Quadrature(elements, torch.full((count,), 1 / count, dtype=torch.float64))


def _sphere(band_limit: int) -> tuple[Tensor, Tensor]:
    flat, _ = _circle(band_limit)
    turns = torch.eye(3, dtype=torch.float64).repeat(len(flat), 1, 1)
    turns[:, :2, :2] = flat
    nodes, gauss = np.polynomial.legendre.leggauss(math.ceil((band_limit + 1) / 2))
    c = torch.from_numpy(nodes)
    s = (1 - c**2).sqrt()
    tilts = torch.zeros(len(c), 3, 3, dtype=torch.float64)
    tilts[:, 0, 0], tilts[:, 0, 2], tilts[:, 1, 1], tilts[:, 2, 0], tilts[:, 2, 2] = c, s, 1.0, -s, c
    elements = torch.einsum("aij,bjk,ckl->abcil", turns, tilts, turns)
    weights = (torch.from_numpy(gauss) / 2)[None, :, None].expand(len(turns), -1, len(turns)) / len(
        turns
    ) ** 2
    return elements.reshape(-1, 3, 3), weights.reshape(-1)
