"""From learning rate and steps to the time of the gradient flow, and where that breaks down."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.linear._closed_flow import check_learning_rate
from symscope.numerics import checked

__all__ = [
    "FlowTime",
    "descent_rates",
    "flow_time",
    "learning_rate_for",
    "mean_loss_rate",
]

_SMALLEST = 1e-300  # keeps a division by zero out of a branch that is not taken


@final
@dataclass(frozen=True)
class FlowTime:
    """What a number of gradient-descent steps is in flow time, and how far the two are apart.

    Attributes:
        time: `eta * k`; NaN where descent diverges, and then both errors are infinite.
        stable_rate: `2 / lambda_max`: descent diverges from here on.
        monotone_rate: `1 / lambda_max`: above it the fastest directions swing from side to side.
        rate_error: The largest relative error of a decay rate, `-log|1 - eta lambda| / (eta lambda) - 1`.
        weight_error: `max |(1 - eta lambda)^k - exp(-eta lambda k)|`: the largest difference between descent
            and flow at this time, for a start at distance one from the minimum.
        verdict: How well descent follows the flow, in words.
    """

    time: float
    stable_rate: float
    monotone_rate: float
    rate_error: float
    weight_error: float
    verdict: str


@checked
def flow_time(rates: Float[Tensor, " d"], learning_rate: float, steps: int) -> FlowTime:
    """`t = eta * k`, and its validity: the flow follows descent while `eta lambda_max` is small.

    Args:
        rates: Eigenvalues of `K_G`, of the loss that is really minimised: divide by the number of points
            where the mean squared error is (`mean_loss_rate` converts the learning rate instead).
        learning_rate: eta, positive; beyond the stable bound there is no flow time, as the verdict states.
        steps: k.

    Raises:
        InputError: A learning rate that is not positive, or a negative number of steps.

    >>> print(flow_time(torch.tensor([1.0, 10.0]), 0.01, 100).verdict)
    eta lambda_max = 0.1: descent follows the flow, decay rates within 5.4 %.
    """
    if not (math.isfinite(learning_rate) and learning_rate > 0):
        raise InputError(f"expected a positive learning rate, got {learning_rate}.")
    if steps < 0:
        raise InputError(f"steps: expected 0 or more, got {steps}.")
    values = rates.to(torch.float64)
    largest = float(values.max())
    if largest <= 0:
        infinite = math.inf
        return FlowTime(learning_rate * steps, infinite, infinite, 0.0, 0.0, "K is zero: nothing moves.")
    stable = 2 / largest
    if learning_rate >= stable:
        words = (
            f"eta lambda_max = {learning_rate * largest:.3g}: at or beyond 2, gradient descent diverges and "
            f"has no flow time; choose eta below {stable:.3g}."
        )
        return FlowTime(math.nan, stable, stable / 2, math.inf, math.inf, words)
    error = float(_rate_errors(values, learning_rate).max())
    gap = (1 - learning_rate * values) ** steps - torch.exp(-learning_rate * values * steps)
    words = _verdict(learning_rate * largest, error)
    return FlowTime(learning_rate * steps, stable, stable / 2, error, float(gap.abs().max()), words)


@checked
def descent_rates(rates: Float[Tensor, " d"], learning_rate: float) -> Float[Tensor, " d"]:
    """The rates at which gradient descent really decays, per unit of `eta k`: `-log|1 - eta lambda| / eta`.

    Raises:
        InputError: A learning rate at which descent diverges.

    >>> descent_rates(torch.tensor([1.0, 10.0], dtype=torch.float64), 0.01).round(decimals=4)
    tensor([ 1.0050, 10.5361], dtype=torch.float64)
    """
    largest = float(rates.max())
    check_learning_rate(learning_rate, 2 / largest if largest > 0 else math.inf)
    return -torch.log((1 - learning_rate * rates).abs()) / learning_rate


@checked
def learning_rate_for(rates: Float[Tensor, " d"], rate_error: float) -> float:
    """The largest learning rate at which every decay rate of descent is that of the flow within an error.

    Args:
        rates: Eigenvalues of `K_G`.
        rate_error: Relative error allowed of a decay rate, positive.

    Raises:
        InputError: An error that is not positive, or rates that are all zero.

    >>> round(learning_rate_for(torch.tensor([1.0, 10.0]), 0.01), 6)
    0.001974
    """
    if not rate_error > 0:
        raise InputError(f"rate_error: expected a positive relative error, got {rate_error}.")
    largest = float(rates.max())
    if largest <= 0:
        raise InputError("expected some positive rate; with K = 0 every learning rate will do.")
    low, high = 0.0, 1.0
    for _ in range(60):  # the error grows with eta lambda on (0, 1): halving finds it to rounding
        middle = (low + high) / 2
        if middle < 1 and -math.log1p(-middle) / middle - 1 <= rate_error:
            low = middle
        else:
            high = middle
    return low / largest


@checked
def mean_loss_rate(learning_rate: float, points: int, outputs: int) -> float:
    """The learning rate of the summed loss `1/2 sum` that equals one of the mean squared error `mean`.

    Deep-learning code minimises `mean (y - f)^2` over points and outputs, the paper `1/2 sum (y - f)^2`:
    `eta * 2 / (points * outputs)`.

    Args:
        learning_rate: Learning rate for the mean squared error, as of `nn.MSELoss()`.
        points: Number of points in the mean.
        outputs: Number of outputs of a point; `nn.MSELoss()` averages over them too.

    Raises:
        InputError: Fewer than one point or output.

    >>> mean_loss_rate(0.1, 100, outputs=2)
    0.001
    """
    if points < 1 or outputs < 1:
        raise InputError(f"points, outputs: expected at least 1 of each, got {points} and {outputs}.")
    return learning_rate * 2 / (points * outputs)


def _rate_errors(values: Tensor, learning_rate: float) -> Tensor:
    products = learning_rate * values.clamp(min=0)
    # log1p keeps the digits of small products; past 1, where the sign alternates, only the size counts
    decay = -torch.where(products < 1, torch.log1p(-products.clamp(max=1)), torch.log((1 - products).abs()))
    return torch.where(products > 0, decay / products.clamp(min=_SMALLEST) - 1, 0.0).abs()


def _verdict(product: float, error: float) -> str:
    start = f"eta lambda_max = {product:.3g}: "
    if product > 1:
        return start + "descent converges but swings from side to side, which the flow never does."
    kind = "follows the flow" if error <= 0.1 else "is faster than the flow"
    return start + f"descent {kind}, decay rates within {100 * error:.2g} %."
