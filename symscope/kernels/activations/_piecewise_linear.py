"""ReLU and its relatives: two slopes that meet at zero (arc-cosine kernels, Cho and Saul 2009)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

TWO_PI = 2 * math.pi
PARALLEL = 4  # roundings of a cosine: closer to 1 than this it counts as 1


@final
@dataclass(frozen=True)
class PiecewiseLinearDual:
    """Dual of `phi(x) = below * min(x, 0) + above * max(x, 0)`; arc-cosine kernels (Cho & Saul 2009, Eq. 3).

    With `c = k / sqrt(q1 q2)` and `b = arccos(-c)`,
    `E[phi phi] = (above - below)^2 sqrt(q1 q2) (sqrt(1 - c^2) + b c) / (2 pi) + above below k`,
    `E[phi' phi'] = (above - below)^2 b / (2 pi) + above below`.

    Accuracy: `b` is taken from `-c`, so that nearly opposite inputs (c = -1) lose nothing beyond what k
    itself carries. Near c = 1 the slope term is only as good as sqrt(eps), because an error of eps in c
    moves the angle by sqrt(2 eps); `E[phi phi]` keeps its full relative accuracy there. Cosines within a few
    eps of +-1 cannot be told from it and count as +-1, so that inputs or patches that are exactly parallel
    (blank backgrounds, the same image on both sides) are exact.

    A variance of exactly zero means the pre-activation is exactly zero: the slope is then PyTorch's own.

    Attributes:
        below: Slope for negative x.
        above: Slope for positive x.
        at_zero: The derivative PyTorch uses at x = 0.

    >>> relu = PiecewiseLinearDual(0.0, 1.0, 0.0)
    >>> k, q = torch.tensor(0.0), torch.tensor(1.0)
    >>> [round(float(v), 6) for v in relu.covariance(k, q, q, True)]   # 1/(2 pi), 1/4
    [0.159155, 0.25]
    """

    below: float
    above: float
    at_zero: float

    def covariance(
        self, k: Float[Tensor, "*s"], q1: Float[Tensor, "..."], q2: Float[Tensor, "..."], slope: bool
    ) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"] | None]:
        """`(E[phi phi], E[phi' phi'])`, see the class."""
        jump = (self.above - self.below) ** 2 / TWO_PI
        product = self.above * self.below
        r1, r2 = q1.sqrt(), q2.sqrt()
        towards_one = 1 + PARALLEL * torch.finfo(k.dtype).eps
        minus_c = (k * _inverse(r1).mul_(-towards_one)).mul_(_inverse(r2)).clamp_(-1.0, 1.0)
        angle = torch.acos(minus_c)
        one = torch.ones((), dtype=k.dtype, device=k.device)
        sine = torch.addcmul(one, minus_c, minus_c, value=-1.0, out=minus_c).sqrt_()
        value = sine.mul_(r1 * jump).mul_(r2).addcmul_(k, angle, value=jump)
        if product:
            value.add_(k, alpha=product)
        if not slope:
            return value, None
        slopes = angle.mul_(jump)
        if product:
            slopes.add_(product)
        return value, self._slopes_at_zero(slopes, q1, q2)

    def variance(self, q: Float[Tensor, "*s"]) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"]]:
        """`(above^2 + below^2) / 2` times q, and itself."""
        half = (self.above**2 + self.below**2) / 2
        slopes = torch.where(q > 0, q.new_tensor(half), q.new_tensor(self.at_zero**2))
        return q * half, slopes

    def _slopes_at_zero(self, slopes: Tensor, q1: Tensor, q2: Tensor) -> Tensor:
        zero1, zero2 = q1 == 0, q2 == 0
        if not (bool(zero1.any()) or bool(zero2.any())):
            return slopes
        mean = (self.above + self.below) / 2
        one_zero, both_zero = self.at_zero * mean, self.at_zero**2
        slopes = slopes.masked_fill_(zero1 | zero2, one_zero)
        return slopes.masked_fill_(zero1 & zero2, both_zero)


def _inverse(root: Tensor) -> Tensor:
    """`1 / root`, and 0 where root is 0."""
    return torch.where(root > 0, root.reciprocal(), torch.zeros_like(root))
