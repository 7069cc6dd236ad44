"""The networks behind the reference numbers, as PyTorch modules; images come as NHWC and leave as NCHW."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from symscope import kernels

FIXTURES = Path(__file__).parent / "fixtures"
WIDTH = 16

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "erf": kernels.activations.Erf,
    "leaky0.1": lambda: nn.LeakyReLU(0.1),
    "abrelu_m0.3_0.8": lambda: kernels.activations.PiecewiseLinear(-0.3, 0.8),
    "gelu": nn.GELU,
    "sin": kernels.activations.Sin,
    "sin_a2_b1.5_c0.3": lambda: kernels.activations.Sin(2.0, 1.5, 0.3),
    "abs": kernels.activations.Abs,
    "cos": kernels.activations.Cos,
    "rbf1": lambda: kernels.activations.Sin(math.sqrt(2), math.sqrt(2), math.pi / 4),
    "sign": kernels.activations.Sign,
    "sigmoid_like": lambda: kernels.activations.Erf(0.5, 1 / 2.4020563531719796, 0.5),
    "exp": lambda: kernels.activations.Exp(1.0, 0.2),
    "monomial2": lambda: kernels.activations.Monomial(2),
    "gaussian": kernels.activations.Gaussian,
}


def fixture(name: str) -> dict[str, np.ndarray]:
    with np.load(FIXTURES / f"{name}.npz", allow_pickle=False) as file:
        return dict(file)


def images(array: np.ndarray) -> Tensor:
    return torch.from_numpy(array).permute(0, 3, 1, 2).contiguous()


def mlp(
    activation: str, bias: bool = True, width: int = 64, depth: int = 3, inputs: int = 10
) -> nn.Sequential:
    steps: list[nn.Module] = []
    for layer in range(depth):
        steps += [nn.Linear(width if layer else inputs, width, bias=bias), ACTIVATIONS[activation]()]
    return nn.Sequential(*steps, nn.Linear(width, 1, bias=bias))


class DenseResidual(nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.second(torch.relu(self.first(torch.relu(x))))


class ConvResidual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.branch = nn.Sequential(nn.ReLU(), *conv(WIDTH), nn.ReLU(), *conv(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        return self.branch(x) + x


def conv(
    channels: int, mode: str = "circular", size: int = 3, stride: int = 1, bias: bool = True
) -> list[nn.Module]:
    """One convolution; strided ones pad (0, 1) as the reference does."""
    if mode == "valid":
        return [nn.Conv2d(channels, WIDTH, size, bias=bias)]
    if stride > 1:
        pad = nn.ZeroPad2d if mode == "zeros" else nn.CircularPad2d
        return [pad((0, 1, 0, 1)), nn.Conv2d(channels, WIDTH, size, stride=stride, bias=bias)]
    return [nn.Conv2d(channels, WIDTH, size, padding=size // 2, padding_mode=mode, bias=bias)]


def conv_body(name: str, channels: int, size: int) -> list[nn.Module]:
    """The layers of a reference network before its read-out."""
    mode = "zeros" if "same" in name else "valid" if "valid" in name else "circular"
    if name.endswith("stride2"):
        return [
            *conv(channels, mode),
            nn.ReLU(),
            *conv(WIDTH, mode, stride=2),
            nn.ReLU(),
            *conv(WIDTH, mode),
            nn.ReLU(),
        ]
    if "avgpool" in name:
        pool: list[nn.Module] = [nn.AvgPool2d(2)]
        if name.endswith("s1"):
            pool = [nn.CircularPad2d((0, 1, 0, 1)), nn.AvgPool2d(2, 1)]
        return [
            *conv(channels, mode),
            nn.ReLU(),
            *pool,
            *conv(WIDTH, mode),
            nn.ReLU(),
            *conv(WIDTH, mode),
            nn.ReLU(),
        ]
    if name == "res":
        return [*conv(channels), ConvResidual(), nn.ReLU()]
    norms: dict[str, Callable[[], nn.Module]] = {
        "conv3_circ_ln": lambda: kernels.activations.ChannelNorm(1e-12),
        "conv3_circ_ln_sp": lambda: nn.LayerNorm((WIDTH, size, size), eps=1e-12),
    }
    ending = {"leaky": "leaky0.1"}.get(name.split("_")[-1], name.split("_")[-1])
    activation = ACTIVATIONS.get(ending, nn.ReLU)
    steps: list[nn.Module] = []
    for layer in range(2 if name.endswith("ln_sp") else 3):
        width = WIDTH if layer else channels
        steps += conv(width, mode, 5 if name.endswith("k5") else 3, bias="nobias" not in name)
        steps += [norms[name]()] if name in norms else []
        steps.append(activation())
    return steps


def conv_net(key: str) -> nn.Sequential:
    """The network of a key of `conv_random.json`."""
    name, readout, shape = key.split("__")
    size, _, channels = (int(n) for n in shape.split("x"))
    body = conv_body(name, channels, size)
    if readout == "gap":
        return nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(WIDTH, 1))
    with torch.no_grad():
        flat = nn.Sequential(*body, nn.Flatten()).double()(torch.zeros(1, channels, size, size).double())
    return nn.Sequential(*body, nn.Flatten(), nn.Linear(flat.shape[1], 1))
