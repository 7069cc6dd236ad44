"""Erf, sigmoid-like erf and GELU."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor


@final
@dataclass(frozen=True)
class ErfDual:
    """Dual of `phi(x) = a erf(b x) + c` (Williams 1997, Eq. 11).

    With `D = (1 + 2 b^2 q1)(1 + 2 b^2 q2) - 4 b^4 k^2`,
    `E[phi phi] = (2 a^2 / pi) atan2(2 b^2 k, sqrt(D)) + c^2`, `E[phi' phi'] = 4 a^2 b^2 / (pi sqrt(D))`.
    The atan2 form does not lose digits where the usual arcsin of a number near 1 does.

    >>> k = torch.tensor(0.5)
    >>> value, slope = ErfDual(1.0, 1.0, 0.0).covariance(k, torch.tensor(1.0), torch.tensor(1.0), True)
    >>> round(float(value), 6), round(float(slope), 6)   # (2/pi) asin(1/3), (4/pi) / sqrt(8)
    (0.216347, 0.450158)
    """

    a: float
    b: float
    c: float

    def covariance(
        self, k: Float[Tensor, "*s"], q1: Float[Tensor, "..."], q2: Float[Tensor, "..."], slope: bool
    ) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"] | None]:
        """`(E[phi phi], E[phi' phi'])`, see the class."""
        b2 = 2 * self.b**2
        return self._from_root(k, determinant(k, q1, q2, b2).sqrt_(), slope)

    def variance(self, q: Float[Tensor, "*s"]) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"]]:
        """The same at k = q1 = q2 = q, where `D = 1 + 4 b^2 q` exactly."""
        value, slopes = self._from_root(q, (1 + 4 * self.b**2 * q).sqrt_(), True)
        assert slopes is not None
        return value, slopes

    def _from_root(self, k: Tensor, root: Tensor, slope: bool) -> tuple[Tensor, Tensor | None]:
        value = torch.atan2(k * (2 * self.b**2), root).mul_(2 * self.a**2 / math.pi)
        if self.c:
            value.add_(self.c**2)
        return value, root.reciprocal_().mul_(4 * (self.a * self.b) ** 2 / math.pi) if slope else None


@final
@dataclass(frozen=True)
class GeluDual:
    """Dual of `phi(x) = x Phi(x)`, Phi the normal distribution function, by Stein's lemma used twice.

    With `D = (1 + q1)(1 + q2) - k^2` and `m = 1/(1 + q1) + 1/(1 + q2)`,
    `E[phi phi] = (k atan2(sqrt(D), -k) + (q1 q2 - k^2 + m k^2) / sqrt(D)) / (2 pi)`,
    `E[phi' phi'] = (atan2(sqrt(D), -k) + (m + 1/D) k / sqrt(D)) / (2 pi)`.

    >>> one, zero = torch.tensor(1.0), torch.tensor(0.0)
    >>> [round(float(v), 6) for v in GeluDual().covariance(zero, one, one, True)]   # (E[phi])^2, 1/4
    [0.079577, 0.25]
    """

    def covariance(
        self, k: Float[Tensor, "*s"], q1: Float[Tensor, "..."], q2: Float[Tensor, "..."], slope: bool
    ) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"] | None]:
        """`(E[phi phi], E[phi' phi'])`, see the class."""
        spread = torch.addcmul(q1 * q2, k, k, value=-1.0).clamp_min_(0.0)
        return self._from_spread(k, spread, q1, q2, slope)

    def variance(self, q: Float[Tensor, "*s"]) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"]]:
        """The same at k = q1 = q2 = q."""
        value, slopes = self._from_spread(q, torch.zeros_like(q), q, q, True)
        assert slopes is not None
        return value, slopes

    def _from_spread(
        self, k: Tensor, spread: Tensor, q1: Tensor, q2: Tensor, slope: bool
    ) -> tuple[Tensor, Tensor | None]:
        det = spread + (1 + q1)
        det += q2
        root = det.sqrt()
        angle = torch.atan2(root, -k)
        inverses = (1 + q1).reciprocal() + (1 + q2).reciprocal()
        value = (inverses * k).mul_(k).add_(spread).div_(root).addcmul_(k, angle).div_(2 * math.pi)
        if not slope:
            return value, None
        slopes = det.reciprocal_().add_(inverses).mul_(k).div_(root).add_(angle).div_(2 * math.pi)
        return value, slopes


def determinant(k: Tensor, q1: Tensor, q2: Tensor, scale: float) -> Tensor:
    """`det(I + scale * [[q1, k], [k, q2]])`, as a sum of terms that are all positive."""
    det = torch.addcmul(q1 * q2, k, k, value=-1.0).clamp_min_(0.0).mul_(scale**2)
    return det.add_(q1, alpha=scale).add_(q2, alpha=scale).add_(1.0)
