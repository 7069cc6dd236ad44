"""What training with squared loss predicts, in closed form: at any time, for one function or an ensemble.

One convention throughout. The loss is `1/2 sum_i |f(x_i) - y_i|^2 + ridge/2 |w - w_0|^2` (a sum, not a mean:
for a mean over n inputs divide the learning rate by n), weights follow `dw/dt = -learning_rate * gradient`,
and the kernel k is that of the linearised network, `f(x) = f_0(x) + J(x) (w - w_0)`, `k = J J^T`. Then

    f_t(x) = f_0(x) + k(x, X) g_t(K) (y - f_0(X)),   g_t(l) = (1 - exp(-learning_rate (l + ridge) t)) / (l +
    ridge)

and `t = learning_rate * steps` relates time to gradient descent while `learning_rate < 2 / (l_max + ridge)`.
One eigendecomposition of K serves all times. Nothing is added to K that was not asked for: directions in
which K vanishes are never learned, and their share of the targets is reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from symscope.errors import InputError
from symscope.kernels._training_spectrum import (
    TrainingSpectrum,
    check_matrix,
    check_singular,
    training_spectrum,
)
from symscope.numerics import checked

__all__ = [
    "Prediction",
    "gradient_descent_prediction",
    "gradient_flow_prediction",
    "nngp_posterior",
    "ntk_ensemble_prediction",
]


@final
@dataclass(frozen=True)
class Prediction:
    """Predictions with what the training set could not teach.

    Attributes:
        mean: Predictions at every time, input and output.
        covariance: Covariance between inputs at every time, the same for every output; None for a single
            function.
        rank: Rank of the training kernel matrix.
        unlearned: Norm of the part of `y - f_0(X)` in its null space, for every output: it stays at every
            time.
        condition: Largest over smallest eigenvalue of `K + ridge`, null directions left out.
    """

    mean: Float[Tensor, "t m c"]
    covariance: Float[Tensor, "t m m"] | None
    rank: int
    unlearned: Float[Tensor, " c"]
    condition: float


@checked
def gradient_flow_prediction(
    k_train_train: Float[Tensor, "n1 n2"],
    k_test_train: Float[Tensor, "m n3"],
    y: Float[Tensor, "n4 c1"],
    *,
    times: Sequence[float],
    learning_rate: float,
    ridge: float,
    initial_train: Float[Tensor, "n5 c2"] | None = None,
    initial_test: Float[Tensor, "m2 c3"] | None = None,
    singular: str = "error",
    rank_tolerance: float | None = None,
) -> Prediction:
    """Predictions of gradient flow on the squared loss at many times; kernel regression at `math.inf`.

    `f_t(x) = f_0(x) + k(x, X) g_t(K) (y - f_0(X))`, with g_t as in the module's text (Lee et al. 2019, eq.
    8-9)

    Args:
        k_train_train: K, symmetric and positive semi-definite.
        k_test_train: k(x, X); K itself predicts on the training inputs.
        y: Targets.
        times: Times from 0 to `math.inf`.
        learning_rate: Learning rate, positive.
        ridge: Ridge of at least 0.
        initial_train: f_0 on the training inputs; None for zero.
        initial_test: f_0 on the test inputs; None for zero. Give both or neither.
        singular: Treatment of a singular K without ridge at `math.inf`: "error", or "pseudo_inverse" for the
            limit of the flow, which is the interpolation of least norm.
        rank_tolerance: Eigenvalues below this fraction of the largest count as zero; None for n times the
            rounding unit of the dtype.

    Returns:
        Means [times, m, c], no covariance.

    Raises:
        InputError: If shapes, numbers or options do not fit, K is not symmetric or has a negative eigenvalue,
            K is singular and `singular` is "error", or k_test_train does not belong to K.

    >>> K = torch.tensor([[2.0, 1.0], [1.0, 2.0]], dtype=torch.float64)
    >>> y = torch.tensor([[1.0], [0.0]], dtype=torch.float64)
    >>> flow = gradient_flow_prediction(K, K, y, times=[0.0, math.inf], learning_rate=1.0, ridge=0.0)
    >>> flow.mean[:, :, 0].round(decimals=12).abs().tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    _check_times(times)
    _check_positive("learning_rate", learning_rate)
    spectrum = training_spectrum(k_train_train, k_test_train, y, ridge, rank_tolerance)
    if any(math.isinf(t) for t in times):
        check_singular(spectrum, ridge, singular)
    filters = _flow_filters(spectrum, times, learning_rate, ridge)
    return _mean(spectrum, filters, k_test_train, y, initial_train, initial_test, ridge)


@checked
def gradient_descent_prediction(
    k_train_train: Float[Tensor, "n1 n2"],
    k_test_train: Float[Tensor, "m n3"],
    y: Float[Tensor, "n4 c1"],
    *,
    steps: Sequence[int],
    learning_rate: float,
    ridge: float,
    initial_train: Float[Tensor, "n5 c2"] | None = None,
    initial_test: Float[Tensor, "m2 c3"] | None = None,
    rank_tolerance: float | None = None,
) -> Prediction:
    """Predictions after whole steps of gradient descent on the linearised network, exactly.

    As `gradient_flow_prediction` with `g_s(l) = (1 - (1 - learning_rate (l + ridge))^s) / (l + ridge)`

    Args:
        k_train_train: K, symmetric and positive semi-definite.
        k_test_train: k(x, X); K itself predicts on the training inputs.
        y: Targets.
        steps: Numbers of steps, from 0.
        learning_rate: Learning rate, positive and below `2 / (l_max + ridge)`, beyond which descent diverges.
        ridge: Ridge of at least 0.
        initial_train: f_0 on the training inputs; None for zero.
        initial_test: f_0 on the test inputs; None for zero. Give both or neither.
        rank_tolerance: Eigenvalues below this fraction of the largest count as zero; None for n times the
            rounding unit of the dtype.

    Returns:
        Means [steps, m, c], no covariance.

    Raises:
        InputError: If shapes or numbers do not fit, K is not symmetric or has a negative eigenvalue, or the
            learning rate is too large.

    >>> K = torch.tensor([[2.0]], dtype=torch.float64)
    >>> y = torch.tensor([[1.0]], dtype=torch.float64)
    >>> out = gradient_descent_prediction(K, K, y, steps=[1, 2], learning_rate=0.25, ridge=0.0)
    >>> out.mean.flatten().tolist()
    [0.5, 0.75]
    """
    if any(int(s) != s or s < 0 for s in steps) or len(steps) == 0:
        raise InputError(f"steps: expected whole numbers of at least 0, got {list(steps)}.")
    _check_positive("learning_rate", learning_rate)
    spectrum = training_spectrum(k_train_train, k_test_train, y, ridge, rank_tolerance)
    largest = float(spectrum.values[-1]) + ridge
    if learning_rate * largest >= 2:
        raise InputError(
            f"learning_rate: gradient descent diverges from 2 / (l_max + ridge) = {2 / largest:.6g} on, "
            f"got {learning_rate:g}."
        )
    rate = learning_rate * (spectrum.values + ridge)
    # 1 - (1 - rate)^s, without cancellation for slow directions
    slow = [-torch.expm1(s * torch.log1p(-rate.clamp(max=0.5))) for s in steps]
    learned = [
        torch.where(rate < 0.5, near, 1 - (1 - rate) ** s) for near, s in zip(slow, steps, strict=True)
    ]
    filters = torch.stack([spectrum.filtered(share, ridge) for share in learned])
    return _mean(spectrum, filters, k_test_train, y, initial_train, initial_test, ridge)


@checked
def ntk_ensemble_prediction(
    ntk_train_train: Float[Tensor, "n1 n2"],
    ntk_test_train: Float[Tensor, "m1 n3"],
    nngp_train_train: Float[Tensor, "n4 n5"],
    nngp_test_train: Float[Tensor, "m2 n6"],
    nngp_test_test: Float[Tensor, "m3 m4"],
    y: Float[Tensor, "n7 c"],
    *,
    times: Sequence[float],
    learning_rate: float,
    ridge: float,
    singular: str = "error",
    rank_tolerance: float | None = None,
) -> Prediction:
    """Mean and covariance of infinitely many wide networks trained from random weights (Lee et al. 2019, eq.
    14-15).

    With `A_t = ntk(x, X) g_t(ntk(X, X))`: mean `A_t y`, covariance
    `nngp(x, x') + A_t nngp(X, X) A_t'^T - A_t nngp(X, x') - nngp(x, X) A_t'^T`

    Args:
        ntk_train_train: NTK of the training inputs.
        ntk_test_train: NTK between test and training inputs.
        nngp_train_train: NNGP kernel of the training inputs: the covariance of outputs at initialisation.
        nngp_test_train: NNGP kernel between test and training inputs.
        nngp_test_test: NNGP kernel of the test inputs.
        y: Targets.
        times: Times from 0 to `math.inf`.
        learning_rate: Learning rate, positive.
        ridge: Ridge on the weights' distance from their initial values, at least 0.
        singular: Treatment of a singular NTK without ridge at `math.inf`: "error" or "pseudo_inverse".
        rank_tolerance: Eigenvalues below this fraction of the largest count as zero; None for n times the
            rounding unit of the dtype.

    Returns:
        Means [times, m, c] and covariances [times, m, m].

    Raises:
        InputError: If shapes, numbers or options do not fit, the NTK is not positive semi-definite, or it is
            singular and `singular` is "error".

    >>> K = torch.tensor([[2.0]], dtype=torch.float64)
    >>> out = ntk_ensemble_prediction(K, K, K, K, K, K, times=[0.0, math.inf], learning_rate=1.0, ridge=0.0)
    >>> out.mean.flatten().tolist(), out.covariance.flatten().tolist()
    ([0.0, 2.0], [2.0, 0.0])
    """
    _check_times(times)
    _check_positive("learning_rate", learning_rate)
    spectrum = training_spectrum(ntk_train_train, ntk_test_train, y, ridge, rank_tolerance)
    n, m = len(ntk_train_train), len(ntk_test_train)
    check_matrix("nngp_train_train", nngp_train_train, (n, n), y)
    check_matrix("nngp_test_train", nngp_test_train, (m, n), y)
    check_matrix("nngp_test_test", nngp_test_test, (m, m), y)
    if any(math.isinf(t) for t in times):
        check_singular(spectrum, ridge, singular)
    filters = _flow_filters(spectrum, times, learning_rate, ridge)
    prediction = _mean(spectrum, filters, ntk_test_train, y, None, None, ridge)
    read_out = spectrum.read_out(ntk_test_train)
    covariances = []
    for filter_t in filters:
        a = (read_out * filter_t) @ spectrum.vectors.mT
        cross = a @ nngp_test_train.mT
        covariance = nngp_test_test + a @ nngp_train_train @ a.mT - cross - cross.mT
        covariances.append((covariance + covariance.mT) / 2)
    return Prediction(
        prediction.mean, torch.stack(covariances), prediction.rank, prediction.unlearned, prediction.condition
    )


@checked
def nngp_posterior(
    k_train_train: Float[Tensor, "n1 n2"],
    k_test_train: Float[Tensor, "m1 n3"],
    k_test_test: Float[Tensor, "m2 m3"],
    y: Float[Tensor, "n4 c"],
    *,
    noise_variance: float,
    singular: str = "error",
    rank_tolerance: float | None = None,
) -> Prediction:
    """Mean and covariance of a Gaussian process given noisy values: Bayesian training of a wide network.

    Mean `k(x, X) (K + s) ^-1 y`, covariance `k(x, x') - k(x, X) (K + s)^-1 k(X, x')` for noise variance s

    Args:
        k_train_train: K, symmetric and positive semi-definite.
        k_test_train: k(x, X).
        k_test_test: k(x, x').
        y: Values.
        noise_variance: Variance of the noise in the values, at least 0; it acts as a ridge.
        singular: Treatment of a singular K without noise: "error" or "pseudo_inverse".
        rank_tolerance: Eigenvalues below this fraction of the largest count as zero; None for n times the
            rounding unit of the dtype.

    Returns:
        Mean [1, m, c] and covariance [1, m, m]: one time, the infinite one.

    Raises:
        InputError: If shapes, numbers or options do not fit, K is not positive semi-definite, or it is
            singular and `singular` is "error".

    >>> one = torch.tensor([[1.0]], dtype=torch.float64)
    >>> out = nngp_posterior(one, one, one, one, noise_variance=1.0)
    >>> out.mean.item(), out.covariance.item()
    (0.5, 0.5)
    """
    spectrum = training_spectrum(
        k_train_train, k_test_train, y, noise_variance, rank_tolerance, "noise_variance"
    )
    check_matrix("k_test_test", k_test_test, (len(k_test_train),) * 2, y)
    check_singular(spectrum, noise_variance, singular)
    inverse = spectrum.filtered(torch.ones_like(spectrum.values), noise_variance)
    prediction = _mean(spectrum, inverse[None], k_test_train, y, None, None, noise_variance)
    read_out = spectrum.read_out(k_test_train)
    covariance = k_test_test - (read_out * inverse) @ read_out.mT
    return Prediction(
        prediction.mean,
        ((covariance + covariance.mT) / 2)[None],
        prediction.rank,
        prediction.unlearned,
        prediction.condition,
    )


def _flow_filters(
    spectrum: TrainingSpectrum, times: Sequence[float], learning_rate: float, ridge: float
) -> Tensor:
    rate = learning_rate * (spectrum.values + ridge)
    # 0 * inf is the null space at infinite time: never learned
    learned = [-torch.expm1(torch.nan_to_num(-rate * t, nan=0.0, neginf=-math.inf)) for t in times]
    return torch.stack([spectrum.filtered(share, ridge) for share in learned])


def _mean(
    spectrum: TrainingSpectrum,
    filters: Tensor,
    k_test_train: Tensor,
    y: Tensor,
    initial_train: Tensor | None,
    initial_test: Tensor | None,
    ridge: float,
) -> Prediction:
    if (initial_train is None) != (initial_test is None):
        raise InputError("initial_train and initial_test: expected both or neither.")
    start = y.new_zeros(len(k_test_train), y.shape[1])
    gap = y
    if initial_train is not None and initial_test is not None:
        check_matrix("initial_train", initial_train, (len(y), y.shape[1]), y)
        check_matrix("initial_test", initial_test, (len(k_test_train), y.shape[1]), y)
        start, gap = initial_test, y - initial_train
    coordinates = spectrum.vectors.mT @ gap
    read_out, null = spectrum.read_out(k_test_train), spectrum.null
    mean = start + torch.einsum("mi,ti,ic->tmc", read_out, filters, coordinates)
    seen = spectrum.values[null:] + ridge
    return Prediction(
        mean=mean,
        covariance=None,
        rank=len(y) - null,
        unlearned=coordinates[:null].norm(dim=0),
        condition=float(seen[-1] / seen[0]) if len(seen) else math.nan,
    )


def _check_times(times: Sequence[float]) -> None:
    if len(times) == 0 or any(math.isnan(t) or t < 0 for t in times):
        raise InputError(f"times: expected numbers from 0 to math.inf, got {list(times)}.")


def _check_positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{name}: expected a positive finite number, got {value}.")
