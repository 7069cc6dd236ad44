"""Any other activation: a Hermite series whose coefficients are integrated numerically.

The dual of an activation is a power series in the correlation, with the squared Hermite coefficients of the
activation (Mehler 1866; Daniely, Frostig and Singer 2016). An even grid under a Gaussian is the
exponentially convergent trapezoidal rule (Trefethen and Weideman 2014).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

CONVERGED = 1e-15  # share of E[phi^2] that may be left out of the series before it is cut
CHUNK = 1 << 20  # function values held at once
REACH = 13.0  # the grid ends there: exp(-REACH^2 / 4) < 1e-18 bounds every weighted Hermite function beyond


@final
@dataclass(frozen=True)
class QuadratureDual:
    """Dual of any function, from its Hermite coefficients (Mehler's formula).

    With `h_j(q) = E[phi(sqrt(q) u) He_j(u)] / sqrt(j!)`, u standard normal, and `c = k / sqrt(q1 q2)`,
    `E[phi phi] = sum_j h_j(q1) h_j(q2) c^j`, and the slopes the same with phi'. The coefficients belong to
    one input, not to a pair, so a pair costs a polynomial of the degree the series needs. They are sums over
    an even grid, which for analytic functions under a Gaussian converge faster than Gauss-Hermite rules: like
    `exp(-2 pi d / step)`, d the distance of the nearest pole. The degree grows until `1e-15` of `E[phi^2]`
    is left out, up to a quarter of the nodes. Functions with kinks converge slowly: ask
    `InfiniteWidth.quadrature_error`.

    Attributes:
        function: Elementwise, differentiable by autograd.
        nodes: Number of grid points.

    >>> one = torch.tensor(1.0, dtype=torch.float64)
    >>> value, slope = QuadratureDual(torch.erf, 512).covariance(one / 2, one, one, True)
    >>> round(float(value), 6), round(float(slope), 6)   # closed form: (2/pi) asin(1/3), (4/pi) / sqrt(8)
    (0.216347, 0.450158)
    """

    function: Callable[[Tensor], Tensor]
    nodes: int

    def covariance(
        self, k: Float[Tensor, "*s"], q1: Float[Tensor, "..."], q2: Float[Tensor, "..."], slope: bool
    ) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"] | None]:
        """`(E[phi phi], E[phi' phi'])`, see the class."""
        cosine = (k * _inverse_root(q1)).mul_(_inverse_root(q2)).clamp_(-1.0, 1.0)
        left = self._coefficients(q1, slope)
        right = self._coefficients(q2, slope)
        value = _series(left[0], right[0], cosine)
        return value, _series(left[1], right[1], cosine) if slope else None

    def variance(self, q: Float[Tensor, "*s"]) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"]]:
        """`E[phi^2]` and `E[phi'^2]` on the grid."""
        _, weights, _ = _rule(self.nodes)
        w = weights.to(q.device)
        squares = [[(v**2) @ w for v in self._values(part, True)] for part in _parts(q, self.nodes)]
        value, slopes = (torch.cat([s[i] for s in squares]).reshape(q.shape).to(q.dtype) for i in (0, 1))
        return value, slopes

    def _values(self, q: Tensor, slope: bool) -> list[Tensor]:
        """phi (and phi') at the nodes, [len(q), nodes], in float64."""
        nodes = _rule(self.nodes)[0].to(q.device)
        z = q.double().sqrt()[:, None] * nodes
        if not slope:
            return [self.function(z)]
        with torch.enable_grad():
            z = z.requires_grad_()
            value = self.function(z)
            (derivative,) = torch.autograd.grad(value.sum(), z)
        return [value.detach(), derivative]

    def _coefficients(self, q: Tensor, slope: bool) -> list[Tensor]:
        """`h_j(q)` for phi (and phi'), [degree, *q.shape], cut where the series has converged."""
        _, weights, basis = _rule(self.nodes)
        weights, basis = weights.to(q.device), basis.to(q.device)
        parts: list[list[Tensor]] = [[], []]
        degree = [1, 1]
        for part in _parts(q, self.nodes):
            for i, values in enumerate(self._values(part, slope)):
                h = values @ basis
                energy = h.square().flip(-1).cumsum(-1)  # of the highest degrees first: nothing cancels
                total = (values.square() @ weights).clamp_min(1e-300)[:, None]
                degree[i] = max(degree[i], int((energy > CONVERGED * total).sum(-1).max()))
                parts[i].append(h)
        return [
            torch.cat(p)[:, :d].T.contiguous().reshape(d, *q.shape).to(q.dtype)
            for p, d in zip(parts, degree, strict=True)
            if p
        ]


@functools.cache
def _rule(nodes: int) -> tuple[Tensor, Tensor, Tensor]:
    """Grid, weights for E[.], and the weighted orthonormal Hermite basis [nodes, nodes // 4]."""
    x = torch.linspace(-REACH, REACH, nodes, dtype=torch.float64)
    weights = torch.exp(-x.square() / 2)
    weights /= weights.sum()
    basis = [torch.ones_like(x), x]
    for j in range(1, nodes // 4 - 1):
        basis.append((x * basis[j] - math.sqrt(j) * basis[j - 1]) / math.sqrt(j + 1))
    return x, weights, torch.stack([b * weights for b in basis], 1)


def _parts(q: Tensor, nodes: int) -> tuple[Tensor, ...]:
    return q.reshape(-1).split(max(1, CHUNK // nodes))


def _inverse_root(q: Tensor) -> Tensor:
    return torch.where(q > 0, q.rsqrt(), torch.zeros_like(q))


def _series(left: Tensor, right: Tensor, cosine: Tensor) -> Tensor:
    """`sum_j left_j right_j cosine^j` by Horner's rule."""
    degree = min(len(left), len(right))  # the shorter side's coefficients beyond are zero to rounding
    total = (left[degree - 1] * right[degree - 1]).expand(cosine.shape).clone()
    for j in range(degree - 2, -1, -1):
        total.mul_(cosine).add_(left[j] * right[j])
    return total
