"""What an activation is to a wide network: two Gaussian expectations."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor


@runtime_checkable
class Dual(Protocol):
    """The dual of an activation phi, for `(u, v) ~ N(0, [[q1, k], [k, q2]])`.

    Implementations are frozen dataclasses: they can be compared, printed and pickled with the network.
    """

    def covariance(
        self, k: Float[Tensor, "*s"], q1: Float[Tensor, "..."], q2: Float[Tensor, "..."], slope: bool
    ) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"] | None]:
        """`E[phi(u) phi(v)]`, and `E[phi'(u) phi'(v)]` if `slope` (else None).

        Args:
            k: Covariances; may be overwritten.
            q1: Variances of u, broadcasting against `k`; never overwritten.
            q2: Variances of v, broadcasting against `k`; never overwritten.
            slope: Whether the second expectation is wanted.
        """
        ...

    def variance(self, q: Float[Tensor, "*s"]) -> tuple[Float[Tensor, "*s"], Float[Tensor, "*s"]]:
        """`E[phi(u)^2]` and `E[phi'(u)^2]` for `u ~ N(0, q)`: exact where u = v, not a limit."""
        ...
