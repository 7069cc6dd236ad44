from __future__ import annotations

import copy
import sys

import gpytorch
import pytest
import torch

from symscope.errors import InputError
from symscope.kernels.adapters._gpytorch import as_gpytorch
from symscope.kernels.classical import arc_cosine_kernel, rbf_kernel
from symscope.kernels.finite._empirical_ntk import empirical_ntk
from symscope.kernels.prediction import nngp_posterior
from tests.kernels.networks import inputs, module
from tests.tolerances import ROUNDING

X, T = inputs(10, (4,)), inputs(5, (4,), seed=1)
Y = X[:, 0] - X[:, 2] ** 2


class Regression(gpytorch.models.ExactGP):
    def __init__(self, covariance, likelihood):
        super().__init__(X, Y, likelihood)
        self.mean, self.covariance = gpytorch.means.ZeroMean(), covariance

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.covariance(x))


def regression(kernel):
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    likelihood.noise = 0.2
    return Regression(kernel, likelihood).double(), likelihood


@pytest.mark.parametrize(
    "kernel", [rbf_kernel(1.2), arc_cosine_kernel(1), empirical_ntk(module("mlp")[0])], ids=lambda k: k.name
)
def test_gram_is_the_plain_tensor(kernel):
    g = as_gpytorch(kernel)
    assert torch.equal(g(X).to_dense(), kernel(X))
    assert torch.equal(g(T, X).to_dense(), kernel(T, X))
    assert torch.allclose(g(X, diag=True), kernel.diagonal(X), rtol=ROUNDING)
    assert torch.allclose(g(X[:5], T, diag=True), kernel(X[:5], T).diagonal(), rtol=ROUNDING, atol=ROUNDING)
    batches = torch.stack([X[:5], T])
    expected = torch.stack([kernel(X[:5], T), kernel(T, T.clone())])
    assert torch.allclose(g(batches, T).to_dense(), expected, rtol=ROUNDING, atol=ROUNDING)
    assert g(X.float()).to_dense().dtype == torch.float32


def test_exact_regression_agrees_with_the_posterior():
    k = empirical_ntk(module("mlp")[0])
    model, _ = regression(as_gpytorch(k))
    model.eval()
    with torch.no_grad():
        result = model(T)
        posterior = nngp_posterior(k(X), k(T, X), k(T), Y[:, None], noise_variance=0.2)
        assert torch.allclose(result.mean, posterior.mean[0, :, 0], rtol=1e-8, atol=1e-8)
        assert torch.allclose(result.covariance_matrix, posterior.covariance[0], rtol=1e-8, atol=1e-8)


def test_scale_and_noise_around_it_are_trained():
    model, likelihood = regression(gpytorch.kernels.ScaleKernel(as_gpytorch(rbf_kernel(1.5))))
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    model.train()
    losses = []
    for _ in range(20):
        optimiser.zero_grad()
        loss = -evidence(model(X), Y)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert model.covariance.raw_outputscale.grad is not None


def test_gradients_reach_the_inputs():
    g = as_gpytorch(rbf_kernel(0.9))
    x = T.clone().requires_grad_()
    g(x, X).to_dense().sum().backward()
    plain = T.clone().requires_grad_()
    torch.exp(-torch.cdist(plain, X).square() / (2 * 0.9**2)).sum().backward()
    assert torch.allclose(x.grad, plain.grad, rtol=1e-10)


def test_vectors_become_images_and_kernels_can_be_copied():
    net, shape = module("conv")
    k, x = empirical_ntk(net), inputs(4, shape)
    g = copy.deepcopy(as_gpytorch(k, input_shape=shape))
    assert torch.allclose(g(x.flatten(1)).to_dense(), k(x), rtol=ROUNDING)
    with pytest.raises(InputError, match=r"input_shape: \(2, 4, 4\) has 32 numbers, the inputs 31"):
        g(x.flatten(1)[:, :31]).to_dense()


def test_features_as_batches_are_refused():
    with pytest.raises(InputError, match="last_dim_is_batch"):
        as_gpytorch(rbf_kernel(1.0)).forward(X, X, last_dim_is_batch=True)


def test_without_gpytorch_the_extra_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "symscope.kernels.adapters._gpytorch_module", raising=False)
    monkeypatch.setitem(sys.modules, "gpytorch", None)
    with pytest.raises(InputError, match=r"pip install symscope\[gpytorch\]"):
        as_gpytorch(rbf_kernel(1.0))
