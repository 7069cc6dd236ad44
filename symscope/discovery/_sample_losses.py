"""Losses of one data point at a time, by name."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from symscope.errors import InputError, nearest

Loss = Callable[[Tensor, Tensor], Tensor]


def squared_loss(outputs: Float[Tensor, "b *o"], targets: Shaped[Tensor, "_b *t"]) -> Float[Tensor, "b"]:
    """`|f(x) - y|^2` of every data point (Sec. 5.3).

    Raises:
        InputError: Targets of another shape than the outputs, axes of length 1 aside.

    >>> squared_loss(torch.tensor([[1.0, 2.0], [0.0, 0.0]]), torch.tensor([[1.0, 0.0], [3.0, 0.0]]))
    tensor([4., 9.])
    """
    return _differences(outputs, targets).square().sum(1)


def mean_squared_loss(outputs: Float[Tensor, "b *o"], targets: Shaped[Tensor, "_b *t"]) -> Float[Tensor, "b"]:
    """`mean (f(x) - y)^2` over the outputs of every data point.

    Raises:
        InputError: Targets of another shape than the outputs, axes of length 1 aside.
    """
    return _differences(outputs, targets).square().mean(1)


def _differences(outputs: Tensor, targets: Tensor) -> Tensor:
    """`f(x) - y` as rows; subtracting `[b]` from `[b, 1]` would compare every output with every target."""
    shapes = [[size for size in t.shape[1:] if size != 1] for t in (outputs, targets)]
    if len(outputs) != len(targets) or shapes[0] != shapes[1]:
        raise InputError(
            f"squared losses: expected targets of the outputs' shape {list(outputs.shape)}, got "
            f"{list(targets.shape)}; reshape them, or for class numbers take the loss cross-entropy"
        )
    return (outputs - targets.reshape(outputs.shape)).reshape(len(outputs), -1)  # outputs may be [b] alone


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
