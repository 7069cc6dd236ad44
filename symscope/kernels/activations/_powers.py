"""Powers, the identity and the sign."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor


@final
@dataclass(frozen=True)
class MonomialDual:
    """Dual of `phi(x) = x^degree`, by counting pairings (Isserlis); degree 1 is the identity.

    `E[u^m v^m] = sum_j (m choose j)^2 j! ((m-j-1)!!)^2 k^j (q1 q2)^((m-j)/2)`, j = m, m-2, ...

    >>> MonomialDual(2).covariance(torch.tensor(2.0), torch.tensor(1.0), torch.tensor(5.0), True)
    (tensor(13.), tensor(8.))
    """

    degree: int

    def covariance(
        self, k: Float[Tensor, "*s"], q1: Float[Tensor, "..."], q2: Float[Tensor, "..."], slope: bool
    ) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"] | None]:
        """`(E[u^m v^m], m^2 E[u^(m-1) v^(m-1)])`."""
        if self.degree == 1:
            return k, torch.ones_like(k) if slope else None
        slopes = _moment(self.degree - 1, k, q1, q2).mul_(self.degree**2) if slope else None
        return _moment(self.degree, k, q1, q2), slopes

    def variance(self, q: Float[Tensor, "*s"]) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"]]:
        """`(2m-1)!! q^m` and `m^2 (2m-3)!! q^(m-1)`."""
        m = self.degree
        return q**m * _odd_factorial(2 * m - 1), q ** (m - 1) * (m**2 * _odd_factorial(2 * m - 3))


@final
@dataclass(frozen=True)
class SignDual:
    """Dual of `phi(x) = sign(x)`: `(2/pi) arcsin(c)`, and slope zero (nothing is learned through a sign).

    >>> SignDual().covariance(torch.tensor(1.0), torch.tensor(1.0), torch.tensor(1.0), False)
    (tensor(1.), None)
    """

    def covariance(
        self, k: Float[Tensor, "*s"], q1: Float[Tensor, "..."], q2: Float[Tensor, "..."], slope: bool
    ) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"] | None]:
        """`((2/pi) arcsin(k / sqrt(q1 q2)), 0)`."""
        parallel = 1 - 8 * torch.finfo(k.dtype).eps  # closer to 1 than this, c^2 cannot be told from 1
        spread = torch.addcmul(q1 * q2 * parallel, k, k, value=-1.0).clamp_min_(0.0).sqrt_()
        value = torch.atan2(k, spread).mul_(2 / math.pi)
        return value, torch.zeros_like(value) if slope else None

    def variance(self, q: Float[Tensor, "*s"]) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"]]:
        """1 (0 for a variance of zero), and 0."""
        return (q > 0).to(q.dtype), torch.zeros_like(q)


def _moment(m: int, k: Tensor, q1: Tensor, q2: Tensor) -> Tensor:
    total = torch.zeros_like(k)
    product = q1 * q2
    for j in range(m, -1, -2):
        count = math.comb(m, j) ** 2 * math.factorial(j) * _odd_factorial(m - j - 1) ** 2
        total += count * k**j * product ** ((m - j) // 2)
    return total


def _odd_factorial(n: int) -> int:
    """`n!! = n (n-2) ... 1`, and 1 for n <= 0."""
    return math.prod(range(n, 0, -2))
