"""Config of `linear/ewk-spectrum`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from torch import nn

from symscope.linear.weights_spectrum import slow_eigenvalue
from symscope_papers.config_bounds import check_at_least, check_field, check_one_of

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}
STARTS = ("default", "normal")
SMALL = 0.2  # the paper's line, after 1000 epochs at 0.01


@final
@dataclass(frozen=True)
class Ewk:
    """Config of `linear/ewk-spectrum`: networks 3-width-1, points of the cube.

    Attributes:
        width: Hidden units; 100 makes 501 weights.
        points: Points of the cube the kernel is summed over.
        networks: Number of networks of each kind.
        activations: Activation functions, "relu" and "tanh"; the paper does not name its own.
        starts: Initialisations, "default" (PyTorch's own) and "normal" (all weights standard normal).
        epochs: Epochs of training; eigenvalues that need more are slow.
        learning_rate: Learning rate of that training.
        remaining: Share of a component that a slow eigenvalue leaves after it.
    """

    width: int = 100
    points: int = 100_000
    networks: int = 20
    activations: tuple[str, ...] = ("relu", "tanh")
    starts: tuple[str, ...] = STARTS
    epochs: int = 1000
    learning_rate: float = 1e-2
    remaining: float = 0.1

    def __post_init__(self) -> None:
        check_at_least(self, 1, "width", "points", "networks")
        check_one_of(self, ACTIVATIONS, "activations")
        check_one_of(self, STARTS, "starts")
        check_field(self, "activations", "relu" in self.activations, "'relu' among them")
        check_field(self, "starts", "default" in self.starts, "'default' among them")
        slow_eigenvalue(self.learning_rate, self.epochs, self.remaining)
