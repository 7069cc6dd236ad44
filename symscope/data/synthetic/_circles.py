"""Two interleaved circles, the smallest data set with two orbits of one cyclic group."""

from __future__ import annotations

import math

import torch

from symscope.data._labelled import LabelledData
from symscope.errors import InputError
from symscope.numerics import check_count, checked


@checked
def circles(points: int, distance: float, dtype: torch.dtype = torch.float64) -> LabelledData:
    """Two orbits of a rotation by 2 pi / N, half a step apart, on unit circles a given distance apart.

    `A_k = (cos 2 pi k / N, sin 2 pi k / N, 0)`, label +1;
    `B_k = (cos 2 pi (k + 1/2) / N, sin 2 pi (k + 1/2) / N, distance)`, label -1;
    ordered A_0, B_0, A_1, B_1, .., which makes every stationary kernel's matrix circulant.
    Equations 2 to 5 of "On the Ability of Deep Networks to Learn Symmetries from Data".

    Args:
        points: N, points on each circle, at least 2.
        distance: Between the planes of the circles, not negative.
        dtype: Floating-point type.

    Returns:
        Points [2 N, 3] with labels +1, -1, +1, -1, ..

    Raises:
        InputError: Too few points, or a negative or infinite distance.

    >>> circles(4, 0.5).labels
    tensor([ 1, -1,  1, -1,  1, -1,  1, -1])
    """
    points = check_count("points", points, least=2, most=10**7)
    if not (math.isfinite(distance) and distance >= 0):
        raise InputError(f"distance: expected a finite number, not negative, got {distance}.")
    step = torch.arange(2 * points, dtype=torch.float64)
    angle = math.pi * step / points
    odd = step % 2
    x = torch.stack([angle.cos(), angle.sin(), distance * odd], dim=1)
    return LabelledData(
        x.to(dtype), (1 - 2 * odd).long(), "circles", f"circles(points={points}, distance={distance})"
    )
