from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from symscope.errors import InputError
from symscope.kernels.adapters._sklearn import as_sklearn, as_sklearn_process
from symscope.kernels.classical import arc_cosine_kernel, rbf_kernel
from symscope.kernels.finite._empirical_ntk import empirical_ntk
from symscope.kernels.prediction import gradient_flow_prediction, nngp_posterior
from tests.kernels.networks import inputs, module
from tests.tolerances import ROUNDING

X, T = inputs(12, (4,)), inputs(5, (4,), seed=1)
LABELS = (X[:, 0] * X[:, 1] > 0).numpy().astype(int)
TARGETS = (X[:, 0] - X[:, 2] ** 2).numpy()


def test_gram_is_the_plain_tensor():
    k = rbf_kernel(1.4)
    f = as_sklearn(k)
    assert np.array_equal(f(X.numpy()), k(X).numpy())
    assert np.array_equal(f(T.numpy(), X.numpy()), k(T, X).numpy())
    assert f(T.numpy()[0], X.numpy()[1]) == pytest.approx(k(T, X)[0, 1].item(), rel=ROUNDING)
    assert np.array_equal(f.diagonal(X.numpy()), k.diagonal(X).numpy())


@pytest.mark.parametrize(
    "kernel", [arc_cosine_kernel(1), empirical_ntk(module("mlp")[0])], ids=lambda k: k.name
)
def test_svc_gets_whole_grams_and_agrees_with_precomputed_ones(kernel):
    model = SVC(kernel=as_sklearn(kernel)).fit(X.numpy(), LABELS)
    other = SVC(kernel="precomputed").fit(kernel(X).numpy(), LABELS)
    assert np.allclose(model.decision_function(T.numpy()), other.decision_function(kernel(T, X).numpy()))
    copied = pickle.loads(pickle.dumps(model))
    assert np.allclose(copied.decision_function(T.numpy()), model.decision_function(T.numpy()))
    assert len(cross_val_score(SVC(kernel=as_sklearn(kernel)), X.numpy(), LABELS, cv=3)) == 3


def test_kernel_ridge_agrees_with_the_end_of_the_flow():
    k = arc_cosine_kernel(1)
    flow = gradient_flow_prediction(
        k(X), k(T, X), torch.from_numpy(TARGETS)[:, None], times=[float("inf")], learning_rate=1.0, ridge=0.5
    )
    one_by_one = KernelRidge(alpha=0.5, kernel=as_sklearn(k)).fit(X.numpy(), TARGETS)
    whole = KernelRidge(alpha=0.5, kernel="precomputed").fit(as_sklearn(k)(X.numpy()), TARGETS)
    expected = flow.mean[0, :, 0].numpy()
    assert np.allclose(one_by_one.predict(T.numpy()), expected, rtol=1e-9)
    assert np.allclose(whole.predict(as_sklearn(k)(T.numpy(), X.numpy())), expected, rtol=1e-9)


def test_gaussian_process_agrees_with_the_posterior():
    k = empirical_ntk(module("mlp")[0])
    model = GaussianProcessRegressor(as_sklearn_process(k), alpha=0.2).fit(X.numpy(), TARGETS)
    mean, covariance = model.predict(T.numpy(), return_cov=True)
    y = torch.from_numpy(TARGETS)[:, None]
    posterior = nngp_posterior(k(X), k(T, X), k(T), y, noise_variance=0.2)
    assert np.allclose(mean, posterior.mean[0, :, 0], rtol=1e-9)
    assert np.allclose(covariance, posterior.covariance[0], rtol=1e-9, atol=1e-10)
    spread = model.predict(T.numpy(), return_std=True)[1]
    assert np.allclose(spread**2, covariance.diagonal(), rtol=1e-8)


def test_scale_and_noise_around_it_are_fitted():
    process = ConstantKernel(2.0) * as_sklearn_process(rbf_kernel(1.5)) + WhiteKernel(0.1)
    x = inputs(40, (1,))
    y = (torch.sin(2 * x) + 0.3 * inputs(40, (1,), seed=1))[:, 0].numpy()  # noise to be found
    model = GaussianProcessRegressor(process).fit(x.numpy(), y)
    start = GaussianProcessRegressor(process, optimizer=None).fit(x.numpy(), y)
    assert model.log_marginal_likelihood_value_ > start.log_marginal_likelihood_value_
    _, gradient = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)
    assert np.abs(gradient).max() < 1e-2  # an optimum in both
    assert 0.03 < model.kernel_.k2.noise_level < 0.3
    assert "rbf(length_scale=1.5)" in repr(model.kernel_)


def test_rows_become_images():
    net, shape = module("conv")
    k, x = empirical_ntk(net), inputs(4, shape)
    flat = x.flatten(1).numpy()
    assert np.allclose(as_sklearn(k, input_shape=shape)(flat), k(x), rtol=ROUNDING)
    assert np.allclose(as_sklearn_process(k, input_shape=shape)(flat), k(x), rtol=ROUNDING)
    with pytest.raises(InputError, match=r"input_shape: \(2, 4, 4\) has 32 numbers, the rows 31"):
        as_sklearn(k, input_shape=shape)(flat[:, :31])


def test_bad_input_is_named():
    f = as_sklearn(rbf_kernel(1.0))
    with pytest.raises(InputError, match=r"Expected an array \[n, features\]"):
        f(np.zeros((2, 3, 4)))
    with pytest.raises(InputError, match="NaN"):
        f(np.full((2, 3), np.nan))
    with pytest.raises(InputError, match="array of numbers"):
        f(np.array([["a", "b"]]))


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "symscope.kernels.adapters._sklearn_process", raising=False)
    monkeypatch.setitem(sys.modules, "sklearn.gaussian_process.kernels", None)
    with pytest.raises(InputError, match=r"pip install symscope\[sklearn\]"):
        as_sklearn_process(rbf_kernel(1.0))
