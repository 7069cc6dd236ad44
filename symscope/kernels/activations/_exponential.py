"""Exponential and Gaussian bumps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.kernels.activations._error_function import determinant


@final
@dataclass(frozen=True)
class ExpDual:
    """Dual of `phi(x) = a exp(b x)`: `E[phi phi] = a^2 exp(b^2 ((q1 + q2) / 2 + k))`, slopes `b^2` times
    that.

    >>> ExpDual(1.0, 2.0).covariance(torch.tensor(0.0), torch.tensor(0.0), torch.tensor(0.0), True)
    (tensor(1.), tensor(4.))
    """

    a: float
    b: float

    def covariance(
        self, k: Float[Tensor, "*s"], q1: Float[Tensor, "..."], q2: Float[Tensor, "..."], slope: bool
    ) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"] | None]:
        """`(E[phi phi], E[phi' phi'])`, see the class."""
        value = k.add(q1, alpha=0.5).add_(q2, alpha=0.5).mul_(self.b**2).exp_().mul_(self.a**2)
        return value, value * self.b**2 if slope else None

    def variance(self, q: Float[Tensor, "*s"]) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"]]:
        """`a^2 exp(2 b^2 q)`, and `b^2` times that."""
        value = (q * (2 * self.b**2)).exp_().mul_(self.a**2)
        return value, value * self.b**2


@final
@dataclass(frozen=True)
class GaussianDual:
    """Dual of `phi(x) = a exp(-b x^2)`, b > 0.

    With `D = det(I + 2 b Sigma)`: `E[phi phi] = a^2 / sqrt(D)`, `E[phi' phi'] = 4 a^2 b^2 k / D^(3/2)`.

    >>> GaussianDual(1.0, 1.0).covariance(torch.tensor(0.0), torch.tensor(0.0), torch.tensor(0.0), True)
    (tensor(1.), tensor(0.))
    """

    a: float
    b: float

    def covariance(
        self, k: Float[Tensor, "*s"], q1: Float[Tensor, "..."], q2: Float[Tensor, "..."], slope: bool
    ) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"] | None]:
        """`(E[phi phi], E[phi' phi'])`, see the class."""
        return self._from_determinant(k, determinant(k, q1, q2, 2 * self.b), slope)

    def variance(self, q: Float[Tensor, "*s"]) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"]]:
        """The same at k = q1 = q2 = q, where `D = 1 + 4 b q` exactly."""
        value, slopes = self._from_determinant(q, 1 + 4 * self.b * q, True)
        assert slopes is not None
        return value, slopes

    def _from_determinant(self, k: Tensor, det: Tensor, slope: bool) -> tuple[Tensor, Tensor | None]:
        value = torch.rsqrt(det).mul_(self.a**2)
        return value, det.reciprocal_().mul_(value).mul_(k).mul_(4 * self.b**2) if slope else None
