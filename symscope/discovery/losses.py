"""Losses of one data point at a time, by name."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from symscope.errors import InputError, nearest

Loss = Callable[[Tensor, Tensor], Tensor]


def squared_loss(outputs: Float[Tensor, "b *o"], targets: Shaped[Tensor, "b *o"]) -> Float[Tensor, "b"]:
    """`|f(x) - y|^2` of every data point (Sec. 5.3).

    >>> squared_loss(torch.tensor([[1.0, 2.0], [0.0, 0.0]]), torch.tensor([[1.0, 0.0], [3.0, 0.0]]))
    tensor([4., 9.])
    """
    return (outputs - targets).square().flatten(1).sum(1)


def mean_squared_loss(outputs: Float[Tensor, "b *o"], targets: Shaped[Tensor, "b *o"]) -> Float[Tensor, "b"]:
    """`mean (f(x) - y)^2` over the outputs of every data point."""
    return (outputs - targets).square().flatten(1).mean(1)


def cross_entropy_loss(outputs: Float[Tensor, "b c"], targets: Shaped[Tensor, "b"]) -> Float[Tensor, "b"]:
    """`log sum_j exp f_j(x) - f_y(x)` of every data point."""
    picked = outputs.gather(1, targets.long()[:, None])[:, 0]
    return torch.logsumexp(outputs, 1) - picked


LOSSES: dict[str, Loss] = {
    "squared": squared_loss,
    "mse": mean_squared_loss,
    "cross-entropy": cross_entropy_loss,
}


def named_loss(name: str) -> Loss:
    """A loss by name: "squared", "mse" or "cross-entropy".

    Raises:
        InputError: An unknown name.

    >>> named_loss("mse") is mean_squared_loss
    True
    """
    if name not in LOSSES:
        raise InputError(f"unknown loss {name!r}; {nearest(name, LOSSES)}")
    return LOSSES[name]
