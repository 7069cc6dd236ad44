from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from torch import Tensor, nn

from symscope import kernels
from symscope.kernels import infinite_width
from symscope.kernels.conformance import assert_kernel_laws

F64 = torch.float64


def points(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


def test_single_precision_is_as_good_as_it_says() -> None:
    """Relative to the largest entry: a few roundings, where inputs are not nearly parallel."""
    nets = [
        (nn.Sequential(nn.Linear(20, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)), (20,)),
        (
            nn.Sequential(
                nn.Conv2d(2, 4, 3), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 1)
            ),
            (2, 6, 6),
        ),
        (nn.Sequential(nn.Linear(20, 8), nn.Tanh(), nn.Linear(8, 1)), (20,)),
    ]
    for net, shape in nets:
        x = points(6, *shape)
        kernel = infinite_width(net)
        for single, double in zip(kernel.both(x.float()), kernel.both(x), strict=True):
            assert single.dtype == torch.float32
            assert ((single - double).abs() / double.abs().max()).max() < 50 * torch.finfo(torch.float32).eps


def test_residual_streams_that_are_both_pooled_and_flattened() -> None:
    """One stream read for equal positions by one branch and for all pairs by the other."""

    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(1, 4, 3, padding=1)
            self.flat, self.pooled = nn.Linear(4 * 20, 3), nn.Linear(4, 3)

        def forward(self, x: Tensor) -> Tensor:
            h = torch.relu(self.conv(x))
            return self.flat(h.flatten(1)) + self.pooled(h.mean((2, 3)))

    net = Two()
    x = points(3, 1, 4, 5)
    head = [net.conv, nn.ReLU()]
    flat = infinite_width(nn.Sequential(*head, nn.Flatten(), net.flat)).both(x)
    pooled = infinite_width(nn.Sequential(*head, nn.AdaptiveAvgPool2d(1), nn.Flatten(), net.pooled)).both(x)
    for both, one, two in zip(infinite_width(net).both(x), flat, pooled, strict=True):
        torch.testing.assert_close(both, one + two, rtol=1e-12, atol=0)


def test_skips_from_the_data() -> None:
    class Skip(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)

        def forward(self, x: Tensor) -> Tensor:
            y = x + self.a(x)
            y += self.b(x)
            return self.last(y)

    x = points(5, 4)
    nngp, ntk = infinite_width(Skip(), b_std=0.0).both(x)
    linear = x @ x.T / 4  # x + A x + B x: three times the input's covariance, then the last layer
    torch.testing.assert_close(nngp, 3 * linear)
    torch.testing.assert_close(ntk, 5 * linear)  # the last layer sees 3, A and B add 1 each


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(("compiled", "least"), [("0", 0.2), ("1", 0.0)])
def test_working_memory_is_what_is_stated(compiled: str, least: float) -> None:
    """Peak memory of a fresh process stays within entry_bytes and working_bytes; plainly, not far below."""
    script = """
import re, torch
from torch import nn
from symscope.kernels import infinite_width
torch.set_num_threads(1)
head = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 1)
net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), *head)
kernel = infinite_width(net).ntk
x = torch.randn(12, 1, 32, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
kernel.blocks(x[None, :2, :, :4, :4], None)
def kilobytes(field):
    return int(re.search(field + r":\\s+(\\d+)", open("/proc/self/status").read())[1])
open("/proc/self/clear_refs", "w").write("5")  # the peak starts anew
before = kilobytes("VmRSS")
kernel.blocks(x[None], None)
used = (kilobytes("VmHWM") - before) * 1024
stated = kernel.entry_bytes(x.shape[1:], x.dtype) * 12**2
stated += kernel.working_bytes(24, x.shape[1:], x.dtype, "cpu")
print(used / stated)
"""
    surroundings = {**os.environ, "SYMSCOPE_COMPILE": compiled}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=surroundings
    )
    # the allocator keeps a little
    assert least <= float(done.stdout) < 1.15


def test_inputs_are_left_alone() -> None:
    x = points(3, 1, 4, 4)
    before = x.clone()
    net = nn.Sequential(nn.Identity(), nn.Conv2d(1, 4, 1), nn.ReLU(), nn.Flatten(), nn.Linear(64, 1))
    infinite_width(net).both(x, x)
    infinite_width(nn.Sequential(nn.Flatten())).both(x)
    assert torch.equal(x, before)


def test_networks_without_weights_or_activations() -> None:
    x = points(4, 3)
    nngp, ntk = infinite_width(nn.Identity()).both(x)
    torch.testing.assert_close(nngp, x @ x.T / 3)
    assert ntk.abs().max() == 0
    nngp, ntk = infinite_width(nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)), w_std=1.5, b_std=0.5).both(x)
    first = 1.5**2 * (x @ x.T / 3) + 0.25
    torch.testing.assert_close(nngp, 1.5**2 * first + 0.25)
    torch.testing.assert_close(ntk, nngp + 1.5**2 * first)


@pytest.mark.parametrize("shape", [(2, 5), (2, 4, 3), (1, 3, 2, 3)])
def test_one_two_and_three_axes_of_positions(shape: tuple[int, ...]) -> None:
    convs = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
    pools = {1: nn.AdaptiveAvgPool1d, 2: nn.AdaptiveAvgPool2d, 3: nn.AdaptiveAvgPool3d}
    axes = len(shape) - 1
    net = nn.Sequential(
        convs[axes](shape[0], 4, 2, padding=1),
        kernels.activations.Erf(),
        pools[axes](1),
        nn.Flatten(),
        nn.Linear(4, 1),
    )
    assert_kernel_laws(infinite_width(net).ntk, points(5, *shape))
