"""The optimiser of a training as plain data; the steps themselves are PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from symscope.errors import InputError, nearest

KINDS = ("adam", "sgd")


@final
@dataclass(frozen=True)
class Optimiser:
    """Adam or (stochastic) gradient descent.

    Attributes:
        kind: "adam" or "sgd".
        learning_rate: Step size.
        betas: Adam's two decay rates.
        momentum: Momentum of "sgd".

    Raises:
        InputError: An unknown kind, or a number that makes no sense.

    >>> Optimiser("adam", 1e-3, betas=(0.7, 0.9))
    Optimiser(kind='adam', learning_rate=0.001, betas=(0.7, 0.9), momentum=0.0)
    """

    kind: str
    learning_rate: float
    betas: tuple[float, float] = (0.9, 0.999)
    momentum: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(
                f"optimiser: expected 'adam' or 'sgd', got {self.kind!r}; {nearest(self.kind, KINDS)}"
            )
        if not 0 < self.learning_rate < math.inf:
            raise InputError(f"learning_rate: expected a positive number, got {self.learning_rate}.")
        for name, value in (("betas", self.betas[0]), ("betas", self.betas[1]), ("momentum", self.momentum)):
            if not 0 <= value < 1:
                raise InputError(f"{name}: expected numbers from 0 up to, not including, 1, got {value}.")

    def build(self, weights: Iterable[Tensor]) -> torch.optim.Optimizer:
        """PyTorch's optimiser of these weights, in one pass over them on a GPU.

        Each number of a stack of copies moves by its own gradient alone, so that one optimiser of the stack
        is one optimiser per copy.
        """
        moved = [weight for weight in weights if weight.requires_grad]
        if not moved:
            raise InputError("expected a network with weights to train; all of its weights are frozen.")
        fused = moved[0].is_cuda or None
        if self.kind == "adam":
            # capturable: its count of steps lives on the GPU, so that steps can be recorded
            capturable = moved[0].is_cuda
            return torch.optim.Adam(
                moved, lr=self.learning_rate, betas=self.betas, fused=fused, capturable=capturable
            )
        return torch.optim.SGD(moved, lr=self.learning_rate, momentum=self.momentum, fused=fused)
