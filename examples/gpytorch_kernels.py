"""Kernels of symscope in GPyTorch: the Gaussian process of an infinitely wide network, its scale and noise
fitted.

Needs `pip install symscope[gpytorch]`.
"""

from __future__ import annotations

import gpytorch
import torch
from torch import Tensor, nn

from symscope import kernels
from symscope.kernels.adapters import as_gpytorch


def data(n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Points in the plane, and a noisy function of their radius."""
    generator = torch.Generator().manual_seed(seed)
    x = 4 * torch.rand(n, 2, dtype=torch.float64, generator=generator) - 2
    noise = 0.1 * torch.randn(n, dtype=torch.float64, generator=generator)
    return x, torch.cos(2 * x.norm(dim=1)) + noise


class WideNetwork(gpytorch.models.ExactGP):
    """A Gaussian process whose covariance is a scaled kernel of symscope."""

    def __init__(
        self, x: Tensor, y: Tensor, likelihood: gpytorch.likelihoods.Likelihood, kernel: kernels.Kernel
    ) -> None:
        super().__init__(x, y, likelihood)
        self.mean = gpytorch.means.ConstantMean()
        self.covariance = gpytorch.kernels.ScaleKernel(as_gpytorch(kernel))

    def forward(self, x: Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.covariance(x))


def main(steps: int = 60) -> dict[str, float]:
    """Fit scale, mean and noise by the marginal likelihood and return the fit on new points."""
    x, y = data(80, seed=0)
    new_x, new_y = data(60, seed=1)
    net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = WideNetwork(x, y, likelihood, kernels.infinite_width(net).nngp).double()
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.3)
    losses = []
    for _ in range(steps):
        optimiser.zero_grad()
        loss = -evidence(model(x), y)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        predicted = model(new_x).mean
    explained = 1 - (predicted - new_y).square().mean() / new_y.var(correction=0)
    return {
        "first loss": losses[0],
        "last loss": losses[-1],
        "noise variance": likelihood.noise.item(),
        "R^2 on new points": explained.item(),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:20s} {value:.3f}")
