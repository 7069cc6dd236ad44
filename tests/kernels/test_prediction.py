from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from sklearn.gaussian_process import GaussianProcessRegressor

from symscope.errors import InputError, SingularKernelError
from symscope.kernels.adapters._sklearn import as_sklearn_process
from symscope.kernels.classical import rbf_kernel
from symscope.kernels.prediction import (
    gradient_descent_prediction,
    gradient_flow_prediction,
    nngp_posterior,
    ntk_ensemble_prediction,
)
from tests.tolerances import MONTE_CARLO_SIGMAS, ODE

INF = math.inf


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("n", [5, 9])  # nine rows of six features: a singular kernel
def test_flow_agrees_with_an_ode_solver_in_weight_space(ridge, n):
    """The flow of a linear model's weights, integrated, against the closed form on its kernel."""
    phi, test, y, w0 = normal(n, 6), normal(4, 6, seed=1), normal(n, 2, seed=2), normal(6, 2, seed=3)
    rate, times = 0.7, [0.0, 0.1, 1.0, 6.0]

    def descent(_, flat):
        w = torch.from_numpy(flat.reshape(6, 2))
        return (-rate * (phi.T @ (phi @ w - y) + ridge * (w - w0))).numpy().ravel()

    solved = solve_ivp(descent, (0, 6.0), w0.numpy().ravel(), t_eval=times, rtol=1e-11, atol=1e-12)
    expected = np.stack([test.numpy() @ w.reshape(6, 2) for w in solved.y.T])
    result = gradient_flow_prediction(
        phi @ phi.T,
        test @ phi.T,
        y,
        times=times,
        learning_rate=rate,
        ridge=ridge,
        initial_train=phi @ w0,
        initial_test=test @ w0,
    )
    assert np.allclose(result.mean, expected, rtol=ODE, atol=ODE)
    assert result.rank == min(n, 6)


@pytest.mark.parametrize("ridge", [0.0, 0.2])
def test_descent_agrees_with_descent(ridge):
    phi, test, y, w0 = normal(5, 6), normal(4, 6, seed=1), normal(5, 2, seed=2), normal(6, 2, seed=3)
    rate = 1.5 / (torch.linalg.matrix_norm(phi, 2).item() ** 2 + ridge)  # some directions overshoot
    w, expected = w0, {}
    for step in range(41):
        if step in (0, 1, 7, 40):
            expected[step] = test @ w
        w = w - rate * (phi.T @ (phi @ w - y) + ridge * (w - w0))
    result = gradient_descent_prediction(
        phi @ phi.T,
        test @ phi.T,
        y,
        steps=list(expected),
        learning_rate=rate,
        ridge=ridge,
        initial_train=phi @ w0,
        initial_test=test @ w0,
    )
    assert torch.allclose(result.mean, torch.stack(list(expected.values())), rtol=1e-11, atol=1e-11)


def test_small_steps_become_the_flow():
    """The error of descent at time t is of first order in the step."""
    k, test, y = (
        rbf_kernel(1.0)(normal(6, 2)),
        rbf_kernel(1.0)(normal(3, 2, seed=1), normal(6, 2)),
        normal(6, 1, seed=2),
    )
    flow = gradient_flow_prediction(k, test, y, times=[2.0], learning_rate=1.0, ridge=0.0).mean
    errors = []
    for steps in (200, 400):
        descent = gradient_descent_prediction(k, test, y, steps=[steps], learning_rate=2.0 / steps, ridge=0.0)
        errors.append((descent.mean - flow).abs().max().item())
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.05)


@given(seed=st.integers(0, 1000), ridge=st.floats(0, 2), rate=st.floats(0.1, 3))
def test_the_end_of_the_flow_is_kernel_regression(seed, ridge, rate):
    x, test, y = normal(5, 3, seed=seed), normal(4, 3, seed=seed + 1), normal(5, 2, seed=seed + 2)
    k, cross = rbf_kernel(0.8)(x), rbf_kernel(0.8)(test, x)
    flow = gradient_flow_prediction(k, cross, y, times=[0.0, INF], learning_rate=rate, ridge=ridge)
    expected = cross @ torch.linalg.solve(k + ridge * torch.eye(5, dtype=torch.float64), y)
    assert torch.allclose(flow.mean[1], expected, rtol=1e-8, atol=1e-8)
    assert (flow.mean[0] == 0).all()
    assert flow.rank == 5


def test_a_singular_kernel_is_answered_exactly_or_refused():
    phi, test, y = normal(9, 4), normal(3, 4, seed=1), normal(9, 2, seed=2)
    k, cross = phi @ phi.T, test @ phi.T
    with pytest.raises(SingularKernelError, match="rank 4 of 9"):
        gradient_flow_prediction(k, cross, y, times=[1.0, INF], learning_rate=1.0, ridge=0.0)
    result = gradient_flow_prediction(
        k, cross, y, times=[1e12, INF], learning_rate=1.0, ridge=0.0, singular="pseudo_inverse"
    )
    least_norm = test @ torch.linalg.lstsq(phi, y).solution
    assert torch.allclose(result.mean[0], least_norm, rtol=1e-10, atol=1e-10)  # no blow-up at huge times
    assert torch.allclose(result.mean[1], least_norm, rtol=1e-10, atol=1e-10)
    unlearned = y - phi @ torch.linalg.lstsq(phi, y).solution
    assert result.rank == 4
    assert torch.allclose(result.unlearned, unlearned.norm(dim=0), rtol=1e-10)
    finite = gradient_flow_prediction(k, cross, y, times=[3.0], learning_rate=1.0, ridge=0.0)  # no error
    assert torch.isfinite(finite.mean).all()


def random_feature_ensemble(members: int) -> tuple[torch.Tensor, ...]:
    """Linear models `f(x) = phi(x) w` from random weights of unequal variance, trained one by one."""
    phi, test = normal(5, 7), normal(3, 7, seed=1)
    spread = torch.linspace(0.3, 2.0, 7, dtype=torch.float64)
    w0 = normal(7, members, seed=4) * spread[:, None]
    return phi, test, spread, w0


@pytest.mark.parametrize("ridge", [0.0, 0.4])
def test_ensemble_agrees_with_an_ensemble(ridge):
    """NTK phi phi^T, NNGP phi diag(spread^2) phi^T: the two kernels differ, as those of networks do."""
    phi, test, spread, w0 = random_feature_ensemble(20_000)
    y, rate, time = normal(5, 1, seed=2), 0.5, 0.8
    prior = torch.diag(spread**2)
    result = ntk_ensemble_prediction(
        phi @ phi.T,
        test @ phi.T,
        phi @ prior @ phi.T,
        test @ prior @ phi.T,
        test @ prior @ test.T,
        y,
        times=[0.0, time, INF],
        learning_rate=rate,
        ridge=ridge,
    )
    hessian = phi.T @ phi + ridge * torch.eye(7, dtype=torch.float64)
    for index, t in enumerate([0.0, time, 1e6]):
        decay = torch.linalg.matrix_exp(-rate * hessian * min(t, 1e3))  # each member's own weights
        goal = torch.linalg.pinv(hessian, hermitian=True) @ (phi.T @ y + ridge * w0)
        null = torch.eye(7, dtype=torch.float64) - torch.linalg.pinv(hessian, hermitian=True) @ hessian
        w = decay @ (w0 - goal) + goal if ridge else decay @ (w0 - goal - null @ w0) + goal + null @ w0
        outputs = test @ w
        mean, centred = outputs.mean(1), outputs - outputs.mean(1, keepdim=True)
        error = outputs.std(1) / w0.shape[1] ** 0.5
        assert ((mean - result.mean[index, :, 0]).abs() < MONTE_CARLO_SIGMAS * error + 1e-9).all()
        products = centred[:, None] * centred[None]
        spread_of_products = products.std(-1) / w0.shape[1] ** 0.5
        assert (
            (products.mean(-1) - result.covariance[index]).abs()
            < MONTE_CARLO_SIGMAS * spread_of_products + 1e-9
        ).all()


def test_ensemble_of_equal_kernels_ends_in_the_nngp_posterior():
    x, test, y = normal(5, 2), normal(4, 2, seed=1), normal(5, 2, seed=2)
    k, cross, own = rbf_kernel(0.9)(x), rbf_kernel(0.9)(test, x), rbf_kernel(0.9)(test)
    ensemble = ntk_ensemble_prediction(k, cross, k, cross, own, y, times=[INF], learning_rate=1.0, ridge=0.0)
    posterior = nngp_posterior(k, cross, own, y, noise_variance=0.0)
    assert torch.allclose(ensemble.mean, posterior.mean, rtol=1e-9, atol=1e-9)
    assert torch.allclose(ensemble.covariance, posterior.covariance, rtol=1e-9, atol=1e-9)


def test_posterior_agrees_with_scikit_learn():
    x, test, y = normal(6, 2), normal(4, 2, seed=1), normal(6, 1, seed=2)
    k = rbf_kernel(0.7)
    result = nngp_posterior(k(x), k(test, x), k(test), y, noise_variance=0.1)
    model = GaussianProcessRegressor(as_sklearn_process(k), alpha=0.1, optimizer=None).fit(x, y[:, 0])
    mean, covariance = model.predict(test.numpy(), return_cov=True)
    assert np.allclose(result.mean[0, :, 0], mean, rtol=1e-10, atol=1e-12)
    assert np.allclose(result.covariance[0], covariance, rtol=1e-10, atol=1e-12)


K, C, Y = (
    rbf_kernel(1.0)(normal(4, 2)),
    rbf_kernel(1.0)(normal(3, 2, seed=1), normal(4, 2)),
    normal(4, 1, seed=2),
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": Y[:3]}, r"k_train_train: expected shape \(3, 3\)"),
        ({"k_test_train": C[:, :3]}, r"k_test_train: expected shape \(3, 4\)"),
        ({"k_test_train": C.float()}, "expected torch.float64 on cpu like y"),
        ({"k_train_train": K + torch.arange(4.0)}, "symmetric"),
        ({"k_train_train": K - torch.eye(4)}, "positive semi-definite"),
        ({"k_train_train": K * math.nan}, "k_train_train: expected finite"),
        ({"times": []}, "times: expected numbers"),
        ({"times": [-1.0]}, "times: expected numbers"),
        ({"times": [math.nan]}, "times: expected numbers"),
        ({"learning_rate": 0.0}, "learning_rate: expected a positive"),
        ({"ridge": -1.0}, "ridge: expected a finite number of at least 0"),
        ({"singular": "jitter", "times": [INF]}, "singular: expected"),
        ({"rank_tolerance": 2.0}, "rank_tolerance: expected a fraction"),
        ({"initial_train": Y}, "expected both or neither"),
        ({"initial_train": Y[:2], "initial_test": C[:, :1]}, r"initial_train: expected shape \(4, 1\)"),
        ({"k_train_train": torch.ones(4, 4, dtype=torch.float64)}, "does not vanish on the null space"),
    ],
)
def test_bad_input_is_named(change, message):
    given_ = {
        "k_train_train": K,
        "k_test_train": C,
        "y": Y,
        "times": [1.0],
        "learning_rate": 1.0,
        "ridge": 0.0,
    }
    with pytest.raises(InputError, match=message):
        gradient_flow_prediction(**{**given_, **change})


def test_bad_input_of_the_other_predictions_is_named():
    with pytest.raises(InputError, match="diverges from"):
        gradient_descent_prediction(K, C, Y, steps=[1], learning_rate=5.0, ridge=0.0)
    with pytest.raises(InputError, match="steps: expected whole numbers"):
        gradient_descent_prediction(K, C, Y, steps=[-1], learning_rate=0.1, ridge=0.0)
    with pytest.raises(InputError, match="nngp_test_test: expected shape"):
        ntk_ensemble_prediction(K, C, K, C, K, Y, times=[1.0], learning_rate=0.1, ridge=0.0)
    with pytest.raises(InputError, match="noise_variance: expected"):
        nngp_posterior(K, C, C @ C.T, Y, noise_variance=-0.1)
