"""The spectrum of the Gaussian kernel on two interleaved circles, in closed form.

A discrete Fourier transform loses eigenvalues below 1e-16 of the largest to rounding; this sum of positive
terms does not, so that the error without ridge can be followed as far down as it goes.
"""

from __future__ import annotations

import math
from numbers import Integral, Real

import torch
from jaxtyping import Float64
from torch import Tensor

from symscope.errors import InputError


def gaussian_circles_spectrum(points: int, distance: float, inverse_scale: float) -> Float64[Tensor, "n"]:
    """Eigenvalues of `exp(-s^2 r^2)` over two unit circles of N points each, half a step apart.

    With `z = 2 s^2`, `c = exp(-s^2 distance^2)` and the Bessel functions I_k (Jacobi-Anger, then aliasing),
    `lambda_f = N e^-z sum_m (1 + (-1)^m c) I_|f + m N|(z)`: every term is positive.

    Args:
        points: Number N of points on each circle, at least 2.
        distance: Distance between the circles' planes, not negative.
        inverse_scale: Inverse scale s of the kernel, positive.

    Returns:
        2N eigenvalues in the order of the discrete Fourier transform.

    Raises:
        InputError: A number outside those ranges.

    >>> from symscope.data.synthetic._circles import circles
    >>> from symscope.spectral.circulant import circulant_spectrum
    >>> x = circles(4, 1.0).x
    >>> row = torch.exp(-(1.4**2) * ((x[0] - x) ** 2).sum(1))
    >>> torch.allclose(circulant_spectrum(row), gaussian_circles_spectrum(4, 1.0, 1.4), rtol=1e-12)
    True
    """
    from scipy.special import ive

    are_numbers = isinstance(points, Integral) and all(isinstance(x, Real) for x in (distance, inverse_scale))
    if not are_numbers or points < 2 or not 0 <= distance < math.inf or not 0 < inverse_scale < math.inf:
        raise InputError(
            "expected a whole number of points >= 2, distance >= 0 and inverse_scale > 0, all finite; "
            f"got {points!r}, {distance!r} and {inverse_scale!r}"
        )
    z = 2 * inverse_scale**2
    between = math.exp(-((inverse_scale * distance) ** 2))
    # I_k(z) falls faster than (e z / 2 k)^k: what lies beyond this many periods is below the smallest double
    periods = 2 + math.ceil((200 + 3 * z) / points)
    m = torch.arange(-periods, periods + 1)
    order = (torch.arange(2 * points)[:, None] + m * points).abs()
    terms = torch.from_numpy(ive(order.numpy(), z))
    even = (m % 2 == 0).to(torch.float64)
    weight = even * (1 + between) - (1 - even) * math.expm1(-((inverse_scale * distance) ** 2))
    return points * (weight * terms).sum(1)
