"""Infinite-width kernels against wide random networks: the answer where no other reference was re-derived."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from symscope import kernels
from symscope.kernels import infinite_width
from tests.tolerances import MONTE_CARLO_SIGMAS

F64 = torch.float64
LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d)


def draw(net: nn.Module, w_std: float | None, b_std: float | None, seed: int) -> None:
    """Gaussian weights of the given scales; None for PyTorch's default initialisation."""
    torch.manual_seed(seed)
    for layer in net.modules():
        if isinstance(layer, LAYERS):
            if w_std is None:
                layer.reset_parameters()
            else:
                nn.init.normal_(layer.weight, std=w_std / math.sqrt(layer.weight[0].numel()))
                if layer.bias is not None:
                    nn.init.normal_(layer.bias, std=b_std or 0.0)


def sampled(
    net: nn.Module, x: Tensor, w_std: float | None, b_std: float | None, draws: int
) -> tuple[Tensor, Tensor]:
    """NNGP and NTK of random networks `[draws, n, n]`; standard parameterisation if no scales are given."""
    net = net.to(F64)
    nngps, ntks = [], []
    for seed in range(draws):
        draw(net, w_std, b_std, seed)
        out = net(x)
        nngps.append(out.detach() @ out.detach().T / out.shape[1])
        ntk = torch.zeros(len(x), len(x), dtype=F64)
        layers = [m for m in net.modules() if isinstance(m, LAYERS)]
        for layer in layers:
            for parameter, fan_in, std in (
                (layer.weight, layer.weight[0].numel(), w_std),
                (layer.bias, 1, b_std),
            ):
                if parameter is None:
                    continue
                rows = [
                    torch.autograd.grad(out[i, 0], parameter, retain_graph=True)[0].flatten()
                    for i in range(len(x))
                ]
                J = torch.stack(rows)
                ntk += J @ J.T * (1.0 if w_std is None else (std or 0.0) ** 2 / fan_in)
        ntks.append(ntk)
    return torch.stack(nngps), torch.stack(ntks)


def assert_within(samples: Tensor, exact: Tensor) -> None:
    error = samples.std(0) / math.sqrt(len(samples))
    sigmas = (samples.mean(0) - exact).abs() / error.clamp_min(1e-12)  # some entries are not random at all
    assert sigmas.max() < MONTE_CARLO_SIGMAS
    assert (error / exact.abs().max()).max() < 0.08, "too few samples to tell anything"


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        return x - 0.5 * self.second(torch.relu(self.first(torch.relu(x))))


class ChannelsLast(nn.Module):
    """A block that works with channels on the last axis."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.mix = nn.LayerNorm(width, elementwise_affine=False), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.mix(self.norm(x.permute(0, 2, 3, 1)))).permute(0, 3, 1, 2)


NETS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "relu": (
        lambda: nn.Sequential(
            nn.Linear(4, 600), nn.ReLU(), nn.Linear(600, 600), nn.ReLU(), nn.Linear(600, 200)
        ),
        (4,),
    ),
    "layer norm": (
        lambda: nn.Sequential(
            nn.Linear(4, 600),
            nn.LayerNorm(600, elementwise_affine=False),
            nn.ReLU(),
            nn.Linear(600, 600),
            nn.LayerNorm(600, elementwise_affine=False),
            nn.ReLU(),
            nn.Linear(600, 200),
        ),
        (4,),
    ),
    "residual": (
        lambda: nn.Sequential(nn.Linear(4, 400), Residual(400), nn.SiLU(), nn.Linear(400, 200)),
        (4,),
    ),
    "conv, pooled twice": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 150, 3, padding=1),
            nn.ReLU(),
            nn.AvgPool2d(2, padding=1, count_include_pad=False),
            nn.Conv2d(150, 150, 2, padding=1, padding_mode="circular", dilation=2),
            kernels.activations.Erf(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(150, 100),
        ),
        (2, 5, 4),
    ),
    "conv, strided, flat": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 150, (3, 2), stride=2, padding=(1, 0)),
            nn.GELU(),
            nn.Flatten(),
            nn.Linear(150 * 6, 100),
        ),
        (2, 5, 4),
    ),
    "channels last": (
        lambda: nn.Sequential(nn.Conv2d(2, 200, 3), ChannelsLast(200), nn.Flatten(), nn.Linear(200 * 6, 100)),
        (2, 5, 4),
    ),
    "root mean square norm after its activation, pooled in quarters": (
        lambda: nn.Sequential(
            nn.Conv1d(2, 250, 3, padding=1),
            nn.ReLU(),
            nn.RMSNorm((250, 8), elementwise_affine=False),
            nn.AdaptiveAvgPool1d(4),
            nn.Flatten(),
            nn.Linear(1000, 100),
        ),
        (2, 8),
    ),
    "group norm over positions": (
        lambda: nn.Sequential(
            nn.Conv1d(2, 300, 3, padding=1),
            nn.GroupNorm(2, 300, affine=False),
            nn.ReLU(),
            nn.AdaptiveAvgPool1d(1),
            nn.Flatten(),
            nn.Linear(300, 100),
        ),
        (2, 6),
    ),
}


@pytest.mark.parametrize("name", NETS)
def test_wide_networks_in_the_ntk_parameterisation(name: str) -> None:
    build, shape = NETS[name]
    net, x = build(), torch.randn(3, *shape, dtype=F64, generator=torch.Generator().manual_seed(7))
    nngps, ntks = sampled(net, x, 1.3, 0.4, draws=16)
    nngp, ntk = infinite_width(net, w_std=1.3, b_std=0.4).both(x)
    assert_within(nngps, nngp)
    assert_within(ntks, ntk)


@pytest.mark.parametrize("name", ["relu", "conv, strided, flat", "conv, pooled twice"])
def test_default_initialisation_in_the_standard_parameterisation(name: str) -> None:
    build, shape = NETS[name]
    net, x = build(), torch.randn(3, *shape, dtype=F64, generator=torch.Generator().manual_seed(8))
    nngps, ntks = sampled(net, x, None, None, draws=16)
    nngp, ntk = infinite_width(net, parameterisation="standard").both(x)
    assert_within(nngps, nngp)
    assert_within(ntks, ntk)


@pytest.mark.parametrize(
    "last",
    [nn.ReLU(), nn.LeakyReLU(0.4), kernels.activations.Abs(), kernels.activations.PiecewiseLinear(-0.3, 0.8)],
)
def test_blank_patches_have_the_derivative_pytorch_gives_them(last: nn.Module) -> None:
    """Biases that start at zero and are trained: a blank input reaches ReLU as exactly zero."""
    net = nn.Sequential(
        nn.Linear(4, 500), nn.LeakyReLU(0.2), nn.Linear(500, 500), last, nn.Linear(500, 200)
    ).to(F64)
    x = torch.randn(3, 4, dtype=F64, generator=torch.Generator().manual_seed(9))
    x[1] = 0

    samples = []
    for seed in range(16):
        draw(net, 1.3, 0.0, seed)
        out = net(x)
        rows = [
            torch.cat(
                [
                    g.flatten()
                    for g in torch.autograd.grad(out[i, 0], list(net.parameters()), retain_graph=True)
                ]
            )
            for i in range(3)
        ]
        J = torch.stack(rows)
        samples.append(J @ J.T)
    kernel = infinite_width(net, parameterisation="standard", w_std=1.3, b_std=0.0)
    assert_within(torch.stack(samples), kernel.ntk(x))


def test_measured_initialisation_is_the_one_the_module_has() -> None:
    net = nn.Sequential(nn.Linear(30, 2000), nn.ReLU(), nn.Linear(2000, 1500)).to(F64)
    draw(net, 1.7, 0.6, seed=1)
    x = torch.randn(4, 30, dtype=F64, generator=torch.Generator().manual_seed(2))
    for parameterisation in ("ntk", "standard"):
        given = infinite_width(net, parameterisation=parameterisation, w_std=1.7, b_std=0.6).ntk(x)
        measured = infinite_width(net, parameterisation=parameterisation, init="measured").ntk(x)
        torch.testing.assert_close(measured, given, rtol=0.05, atol=0)
        assert not torch.equal(measured, given)
