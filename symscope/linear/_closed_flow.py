"""Gradient flow and gradient descent of linear regression in closed form, at many times at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from symscope.errors import InputError
from symscope.numerics import check_finite, checked

# C = X^T Y lies in the range of K = X^T X up to the rounding of both.
_IN_RANGE = 1e-8


@checked
@final
@dataclass(frozen=True, eq=False)
class RegressionFlow:
    """The solution of `dW/dt = C - K W` for every start and every time. Make it with `regression_flow`.

    Attributes:
        rates: The eigenvalues of K, ascending; exactly zero where K is singular. Direction i of the weights
            relaxes as `exp(-rates[i] t)`.
        directions: The eigenvectors, a column each.
        minimum: `K^+ C`, the smallest weights of least loss.
        unseen: Mask of directions the data do not reach: weights along them never change.
    """

    rates: Float[Tensor, " d"]
    directions: Float[Tensor, "d d"]
    minimum: Float[Tensor, "d *m"]
    unseen: Bool[Tensor, " d"]

    @property
    def rank(self) -> int:
        """The rank of K: how many directions the data reach."""
        return int((~self.unseen).sum())

    @property
    def stable_rate(self) -> float:
        """Gradient descent converges for learning rates below this, `2 / lambda_max`."""
        largest = float(self.rates[-1])
        return 2 / largest if largest > 0 else float("inf")

    def weights(self, start: Tensor, times: Tensor) -> Tensor:
        """`W(t) = e^{-Kt} W0 + (I - e^{-Kt}) K^+ C` (Eq. 3, Eq. 5).

        Args:
            start: W0, `[d, *m]` as the minimum.
            times: Times `[times]`, none negative; infinity gives the limit.

        Returns:
            `[times, d, *m]`.

        Raises:
            InputError: A negative time, or a start of another shape.

        >>> k, c = torch.tensor([[2.0]], dtype=torch.float64), torch.tensor([2.0], dtype=torch.float64)
        >>> times = torch.tensor([0.0, 0.5, torch.inf], dtype=torch.float64)
        >>> regression_flow(k, c).weights(torch.zeros(1, dtype=torch.float64), times)[:, 0].round(decimals=4)
        tensor([0.0000, 0.6321, 1.0000], dtype=torch.float64)
        """
        times = times.to(self.rates)
        if times.ndim != 1 or not bool((times >= 0).all()):
            raise InputError("times: expected a list of times, none negative.")
        exponents = -times[:, None] * self.rates
        exponents = torch.where(self.unseen, torch.zeros_like(exponents), exponents)  # inf * 0 is no number
        return self._states(start, exponents.exp(), -torch.expm1(exponents))

    def descent(self, start: Tensor, learning_rate: float, steps: Int64[Tensor, " k"]) -> Tensor:
        """The iterates of gradient descent, exactly: `(I - eta K)^k` in the place of `e^{-Kt}`.

        Args:
            start: W0, `[d, *m]`.
            learning_rate: eta, below `stable_rate`.
            steps: Numbers of steps k, not negative.

        Returns:
            `[k, d, *m]`.

        Raises:
            InputError: A learning rate that is not positive or at which descent diverges.

        >>> k, c = torch.tensor([[2.0]], dtype=torch.float64), torch.tensor([2.0], dtype=torch.float64)
        >>> start = torch.zeros(1, dtype=torch.float64)
        >>> regression_flow(k, c).descent(start, 0.25, torch.tensor([0, 1, 2]))[:, 0]
        tensor([0.0000, 0.5000, 0.7500], dtype=torch.float64)
        """
        check_learning_rate(learning_rate, self.stable_rate)
        if not bool((steps >= 0).all()):
            raise InputError("steps: expected numbers of steps, none negative.")
        factors = (1 - learning_rate * self.rates) ** steps.to(self.rates.device)[:, None]
        return self._states(start, factors, 1 - factors)

    def limit(self, start: Tensor) -> Tensor:
        """`W(t -> infinity)`: the minimum, plus the part of the start that the data do not reach.

        >>> k = torch.diag(torch.tensor([1.0, 0.0], dtype=torch.float64))
        >>> c = torch.tensor([3.0, 0.0], dtype=torch.float64)
        >>> regression_flow(k, c).limit(torch.tensor([5.0, 7.0], dtype=torch.float64))
        tensor([3., 7.], dtype=torch.float64)
        """
        self._check_start(start)
        return self.minimum + self.undecaying_part(start)

    def undecaying_part(self, weights: Tensor) -> Tensor:
        """The part of weights in the null space of K, which no training moves, `[..., d]` or `[d, m]` alike.

        >>> k = torch.diag(torch.tensor([1.0, 0.0], dtype=torch.float64))
        >>> nothing = torch.zeros(2, dtype=torch.float64)
        >>> regression_flow(k, nothing).undecaying_part(torch.tensor([5.0, 7.0], dtype=torch.float64))
        tensor([0., 7.], dtype=torch.float64)
        """
        self._check_start(weights)
        null = self.directions[:, self.unseen]
        return null @ (null.mT @ weights.to(self.rates))

    def _states(self, start: Tensor, kept: Tensor, gained: Tensor) -> Tensor:
        self._check_start(start)
        columns = (len(self.rates), -1)
        here = self.directions.mT @ start.to(self.rates).reshape(columns)
        there = self.directions.mT @ self.minimum.reshape(columns)
        mixed = kept[..., None] * here + gained[..., None] * there
        return (self.directions @ mixed).reshape(len(kept), *self.minimum.shape)

    def _check_start(self, start: Tensor) -> None:
        if start.shape != self.minimum.shape:
            raise InputError(
                f"expected weights of shape {tuple(self.minimum.shape)}, got {tuple(start.shape)}."
            )


@checked
def regression_flow(
    k: Float[Tensor, "d d2"], c: Float[Tensor, "rows *m"], rank_tolerance: float | None = None
) -> RegressionFlow:
    """The gradient flow of `1/2 tr W^T K W - tr W^T C` by one eigendecomposition.

    Use it with `K_G` and `C_G` (`orbit_regression`), or with the plain moments `X^T X` and `X^T Y`.

    Args:
        k: Symmetric positive semi-definite matrix; it may be singular.
        c: Matrix in the range of K, as `X^T Y` is in that of `X^T X`.
        rank_tolerance: Eigenvalues up to this fraction of the largest count as zero; by default d times the
            spacing of floating-point numbers at one.

    Raises:
        InputError: K not square, symmetric or positive semi-definite, or C not in its range.

    >>> k = torch.tensor([[2.0, 1.0], [1.0, 2.0]], dtype=torch.float64)
    >>> regression_flow(k, torch.tensor([3.0, 3.0], dtype=torch.float64)).rates.round(decimals=12)
    tensor([1., 3.], dtype=torch.float64)
    """
    _check_kernel(k)
    if len(c) != len(k):
        raise InputError(f"expected C with {len(k)} rows, as K has, got shape {tuple(c.shape)}.")
    values, vectors = torch.linalg.eigh((k + k.mT) / 2)
    spacing = torch.finfo(values.dtype).eps
    tolerance = len(k) * spacing if rank_tolerance is None else rank_tolerance
    largest = float(values[-1].clamp(min=0))
    if float(values[0]) < -max(tolerance, len(k) * spacing) * max(largest, float(values.abs().max())):
        raise InputError(
            f"expected a positive semi-definite K, as X^T X is; its least eigenvalue is "
            f"{float(values[0]):.3g} and its largest {largest:.3g}."
        )
    unseen = values <= tolerance * largest
    rates = torch.where(unseen, torch.zeros_like(values), values)
    columns = vectors.mT @ c.to(values).reshape(len(k), -1)
    outside = float(torch.linalg.vector_norm(columns[unseen]))
    if outside > max(_IN_RANGE, tolerance**0.5) * float(torch.linalg.vector_norm(columns)):
        raise InputError(
            f"expected C in the range of K, as X^T Y is in that of X^T X; a part of norm "
            f"{outside:.3g} is not."
        )
    inverse = torch.where(unseen, torch.zeros_like(values), 1 / torch.where(unseen, 1.0, values))
    minimum = (vectors @ (inverse[:, None] * columns)).reshape(c.shape)
    check_finite("the minimum K^-1 C", minimum)
    return RegressionFlow(rates, vectors, minimum, unseen)


def check_learning_rate(learning_rate: float, stable_rate: float) -> None:
    """Raise unless gradient descent with this learning rate converges: `0 < eta < 2 / lambda_max`.

    >>> check_learning_rate(0.1, 0.5)
    """
    if not 0 < learning_rate < stable_rate:
        raise InputError(
            f"expected a learning rate above 0 and below 2 / lambda_max = {stable_rate:.6g}, beyond which "
            f"gradient descent diverges, got {learning_rate:g}."
        )


def _check_kernel(k: Tensor) -> None:
    if k.ndim != 2 or k.shape[0] != k.shape[1] or 0 in k.shape:
        raise InputError(f"expected a square matrix K, got shape {tuple(k.shape)}.")
    if not bool(torch.isfinite(k).all()):
        raise InputError("expected a finite matrix K; some entry is NaN or infinite.")
    scale = float(k.abs().max())
    if float((k - k.mT).abs().max()) > _IN_RANGE * scale:
        raise InputError("expected a symmetric matrix K, as X^T X is; it differs from its transpose.")
