"""Polynomials for the arc cosine without branches: `arccos c = sqrt(1 - c) p(2c - 1)` for 0 <= c <= 1.

`arccos(c) / sqrt(1 - c)` is analytic around [0, 1] up to its singularity at -1, so Chebyshev coefficients
fall by a factor of 3 + sqrt(8) = 5.8 each (Bernstein's theorem: Trefethen 2013, Approximation theory and
approximation practice, Theorem 8.1): degree 19 serves float64, degree 7 float32.
"""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def arccosine_coefficients(degree: int) -> tuple[float, ...]:
    """Coefficients of p, constant first, from Chebyshev interpolation in 50 digits.

    >>> import math
    >>> p = arccosine_coefficients(21)
    >>> t = 2 * 0.3 - 1
    >>> value = math.sqrt(1 - 0.3) * sum(a * t**k for k, a in enumerate(p))
    >>> abs(value - math.acos(0.3)) < 1e-15
    True
    """
    import mpmath  # a tenth of a second, for those who have a GPU alone

    with mpmath.workdps(50):
        count = degree + 1
        nodes = [mpmath.cos(mpmath.pi * (k + mpmath.mpf(1) / 2) / count) for k in range(count)]
        values = [mpmath.acos((t + 1) / 2) / mpmath.sqrt(1 - (t + 1) / 2) for t in nodes]
        chebyshev = [
            2
            / mpmath.mpf(count)
            * mpmath.fsum(
                v * mpmath.cos(mpmath.pi * j * (k + mpmath.mpf(1) / 2) / count) for k, v in enumerate(values)
            )
            for j in range(count)
        ]
        chebyshev[0] /= 2
        return tuple(float(a) for a in _monomials(chebyshev))


def _monomials(chebyshev: list[Any]) -> list[Any]:
    """A Chebyshev series as a polynomial in powers of t."""
    zero = 0 * chebyshev[0]
    previous, current = [zero + 1], [zero, zero + 1]
    total = [zero] * len(chebyshev)
    for index, weight in enumerate(chebyshev):
        basis = previous if index == 0 else current
        for power, a in enumerate(basis):
            total[power] += weight * a
        if index:
            following = [zero, *(2 * a for a in current)]
            for power, a in enumerate(previous):
                following[power] -= a
            previous, current = current, following
    return total
