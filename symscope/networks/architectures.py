"""Networks of "On the Ability of Deep Networks to Learn Symmetries from Data", for reproductions and tests.

Each takes a seed and gives a network in the paper's own initialisation (PyTorch's default where the paper
names it). Classifiers return logits: the papers' last layer, log-softmax, is in the loss.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from symscope.errors import InputError
from symscope.networks._vision_transformer import VisionTransformer
from symscope.numerics import check_count, check_memory, checked, seeded

__all__ = [
    "ScaledLinear",
    "VisionTransformer",
    "conv_net",
    "digit_mlp",
    "mlp",
    "pair_mlp",
    "pooling_factor",
    "seeded_weights",
    "vit",
]


@contextmanager
def seeded_weights(seed: int) -> Iterator[None]:
    """Inside, PyTorch's own initialisers draw from this seed, on the CPU; outside, nothing moves.

    Drawn in float64 whatever the network's dtype becomes: the float32 network is the float64 one, rounded.

    Args:
        seed: A non-negative integer.

    Raises:
        InputError: A seed that is not a non-negative integer.

    >>> with seeded_weights(3):
    ...     first = torch.nn.Linear(2, 2)
    >>> with seeded_weights(3):
    ...     second = torch.nn.Linear(2, 2)
    >>> bool((first.weight == second.weight).all()), first.weight.dtype
    (True, torch.float64)
    """
    start = seeded(seed).initial_seed()
    before = torch.get_default_dtype()
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.default_generator.manual_seed(start)
        torch.set_default_dtype(torch.float64)
        try:
            yield
        finally:
            torch.set_default_dtype(before)


LARGEST_POOLED = 16  # the mean over positions costs side^4 for a pair of images


@checked
def mlp(
    widths: Sequence[int],
    dropout: float = 0.0,
    *,
    last_bias: bool = True,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
) -> nn.Sequential:
    """A ReLU network of full connections, with dropout after every hidden layer.

    Args:
        widths: Inputs, hidden layers, outputs: two numbers or more.
        dropout: Probability that a hidden unit is silent in a training step.
        last_bias: Whether the last layer has a bias.
        seed: Seed for drawing the weights.
        dtype: Precision of the weights.

    Returns:
        `[n, *shape] -> [n, outputs]`; inputs are flattened.

    Raises:
        InputError: Fewer than two widths, one below 1, or a probability outside [0, 1).

    >>> mlp((784, 512, 128, 10), 0.5, last_bias=False)
    Sequential(
      (0): Flatten(start_dim=1, end_dim=-1)
      (1): Linear(in_features=784, out_features=512, bias=True)
      (2): ReLU()
      (3): Dropout(p=0.5, inplace=False)
      (4): Linear(in_features=512, out_features=128, bias=True)
      (5): ReLU()
      (6): Dropout(p=0.5, inplace=False)
      (7): Linear(in_features=128, out_features=10, bias=False)
    )
    """
    if len(widths) < 2:
        raise InputError(f"widths: expected inputs and outputs at least, got {tuple(widths)}.")
    sizes = [check_count("widths", width) for width in widths]
    if not 0 <= dropout < 1:
        raise InputError(f"dropout: expected a probability from 0 up to, not including, 1, got {dropout}.")
    layers: list[nn.Module] = [nn.Flatten()]
    with seeded_weights(seed):
        for before, after in itertools.pairwise(sizes[:-1]):
            layers += [nn.Linear(before, after), nn.ReLU()]
            if dropout:
                layers.append(nn.Dropout(dropout))
        layers.append(nn.Linear(sizes[-2], sizes[-1], bias=last_bias))
    return nn.Sequential(*layers).to(dtype)


@checked
def digit_mlp(seed: int = 0, dtype: torch.dtype = torch.float64) -> nn.Sequential:
    """Fig. 1's MLP (App. B.1): 784-512-128-10, dropout 0.5, no bias in the last layer.

    >>> sum(weight.numel() for weight in digit_mlp().parameters())
    468864
    """
    return mlp((784, 512, 128, 10), 0.5, last_bias=False, seed=seed, dtype=dtype)


@checked
def conv_net(seed: int = 0, dtype: torch.dtype = torch.float64) -> nn.Sequential:
    """Fig. 1's ConvNet (App. B.1) for images `[n, 1, 28, 28]`: 24@5x5, pool, 32@3x3, pool, 256, 10.

    >>> sum(weight.numel() for weight in conv_net().parameters())
    215194
    """
    with seeded_weights(seed):
        return nn.Sequential(
            nn.Conv2d(1, 24, 5),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Conv2d(24, 32, 3),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(800, 256),
            nn.ReLU(),
            nn.Linear(256, 10),
        ).to(dtype)


@checked
def vit(
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
    *,
    side: int = 28,
    patch: int = 4,
    channels: int = 1,
    dim: int = 256,
    depth: int = 2,
    heads: int = 4,
    hidden: int = 256,
    classes: int = 10,
) -> VisionTransformer:
    """Fig. 1's vision transformer (App. B.1) for images `[n, channels, side, side]`.

    Pre-norm blocks, heads of 64, fixed sine positions, mean over patches.

    Raises:
        InputError: A size below 1, a patch that does not divide the side, or a dim not divisible by 4.

    >>> sum(weight.numel() for weight in vit().parameters())
    797482
    """
    if check_count("side", side) % check_count("patch", patch):
        raise InputError(f"patch: expected a divisor of the image's side, {side}, got {patch}.")
    with seeded_weights(seed):
        net = VisionTransformer(side, patch, channels, dim, depth, heads, hidden, classes)
    return net.to(dtype)


@final
class ScaledLinear(nn.Module):
    """A full connection in NTK parameterisation: `w_std W x / sqrt(inputs) + b_std b`; W, b start normal."""

    def __init__(self, inputs: int, outputs: int, w_std: float, b_std: float) -> None:
        super().__init__()
        size = check_count("inputs", inputs) * check_count("outputs", outputs)
        check_memory("the layer", 4 * size, "use fewer inputs or outputs")
        self.scale, self.b_std = w_std / math.sqrt(inputs), b_std
        self.weight = nn.Parameter(torch.randn(outputs, inputs))
        self.bias = nn.Parameter(torch.randn(outputs))

    def forward(self, x: Float[Tensor, "n inputs"]) -> Float[Tensor, "n outputs"]:
        return nn.functional.linear(self.scale * x, self.weight, self.b_std * self.bias)


@checked
def pair_mlp(
    inputs: int = 784,
    width: int = 512,
    depth: int = 1,
    *,
    w_std: float = 1.0,
    b_std: float = 1.0,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
) -> nn.Sequential:
    """The network trained on pairs of orbits (App. B.2): `depth` hidden ReLU layers, one output.

    In NTK parameterisation, so that for large width its training is regression with the NTK of the same
    `w_std`, `b_std`. On images of unit norm it needs about the paper's 2,000 epochs of Adam at 1e-3, and
    PyTorch's own parameterisation, `mlp((784, 512, 1))`, about 100.

    Args:
        inputs: Number of pixels.
        width: Units in every hidden layer.
        depth: Number of hidden layers; 1 or 5 in the paper.
        w_std: Weight scale.
        b_std: Bias scale.
        seed: Seed for drawing the weights.
        dtype: Precision of the weights.

    Returns:
        `[n, *shape] -> [n, 1]`; inputs are flattened.

    Raises:
        InputError: A size below 1, or a negative scale.

    >>> sum(weight.numel() for weight in pair_mlp().parameters())
    402433
    """
    check_count("inputs", inputs)
    entries = check_count("width", width) * (width * check_count("depth", depth) + inputs)
    check_memory("the network", 4 * entries, "use fewer or narrower layers")
    sizes = [inputs] + depth * [width]
    if not (0 <= w_std < math.inf and 0 <= b_std < math.inf):
        raise InputError(f"expected finite scales, 0 or more, got w_std {w_std} and b_std {b_std}.")
    layers: list[nn.Module] = [nn.Flatten()]
    with seeded_weights(seed):
        for before, after in itertools.pairwise(sizes):
            layers += [ScaledLinear(before, after, w_std, b_std), nn.ReLU()]
        layers.append(ScaledLinear(sizes[-1], 1, w_std, b_std))
    return nn.Sequential(*layers).to(dtype)


def pooling_factor(height: int, width: int) -> int:
    """The smallest divisor of both sides that brings them to 16 or fewer; 1 where there is none.

    >>> pooling_factor(28, 28), pooling_factor(10, 10), pooling_factor(17, 17)
    (2, 1, 1)
    """
    largest = max(check_count("height", height), check_count("width", width))
    if largest <= LARGEST_POOLED:
        return 1
    common = math.gcd(height, width)  # a common divisor divides it, and leaves 16 or less of it
    fits = [common // rest for rest in range(LARGEST_POOLED, 0, -1) if common % rest == 0]
    return next((by for by in fits if largest // by <= LARGEST_POOLED and 1 < by < height), 1)
