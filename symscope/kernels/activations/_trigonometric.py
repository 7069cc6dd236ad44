"""Sine and cosine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor


@final
@dataclass(frozen=True)
class SineDual:
    """Dual of `phi(x) = a sin(b x + c)`; cosine is `c + pi/2` (Rahimi & Recht 2007 for the RBF special case).

    `E[phi phi] = a^2 exp(-b^2 (q1 + q2) / 2) (cos^2(c) sinh(b^2 k) + sin^2(c) cosh(b^2 k))`, and the slopes
    the same with cos^2 and sin^2 exchanged, times b^2. The exponentials are joined before they are taken, so
    that neither overflows.

    >>> half, one = torch.tensor(0.5), torch.tensor(1.0)
    >>> [round(float(v), 5) for v in SineDual(1.0, 1.0, 0.0).covariance(half, one, one, True)]
    [0.1917, 0.41483]
    """

    a: float
    b: float
    c: float

    def covariance(
        self, k: Float[Tensor, "*s"], q1: Float[Tensor, "..."], q2: Float[Tensor, "..."], slope: bool
    ) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"] | None]:
        """`(E[phi phi], E[phi' phi'])`, see the class."""
        b2 = self.b**2
        size = k.abs().mul_(b2)
        scale = size.sub(q1, alpha=b2 / 2).sub_(q2, alpha=b2 / 2).exp_().mul_(self.a**2 / 2)
        decay = torch.expm1(size.mul_(-2.0))
        odd = (decay * scale).mul_(torch.sign(k)).neg_()  # a^2 exp(..) sinh(b^2 k)
        even = decay.add_(2.0).mul_(scale)  # a^2 exp(..) cosh(b^2 k)
        cos2, sin2 = math.cos(self.c) ** 2, math.sin(self.c) ** 2
        value = (odd * cos2).add_(even, alpha=sin2)
        if not slope:
            return value, None
        return value, even.mul_(b2 * cos2).add_(odd, alpha=b2 * sin2)

    def variance(self, q: Float[Tensor, "*s"]) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"]]:
        """The same at k = q1 = q2 = q."""
        value, slopes = self.covariance(q.clone(), q, q, True)
        assert slopes is not None
        return value, slopes
