"""Losses, one number per sample: `(prediction [..., n, d], y [..., n, d]) -> [..., n]`."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from symscope.errors import InputError

Loss = Callable[[Tensor, Tensor], Tensor]


def sample_losses(loss: Loss, prediction: Tensor, y: Tensor) -> Tensor:
    """The loss of every sample, `[..., n]`.

    Args:
        loss: `(prediction [..., n, d], y [..., n, d]) -> [..., n]`.
        prediction: `[..., n, d]`.
        y: Targets; their leading axes broadcast with those of the predictions.

    Raises:
        InputError: A loss that gives anything else than one number per sample, such as a mean over them.

    >>> sample_losses(squared_loss, torch.ones(3, 2), torch.zeros(3, 2))
    tensor([1., 1., 1.])
    """
    losses = loss(prediction, y)
    expected = tuple(prediction.shape[:-1])
    if tuple(losses.shape) != expected:
        raise InputError(
            f"expected one loss per sample, shape {expected}, got {tuple(losses.shape)}: a loss maps "
            "(prediction [..., n, d], y [..., n, d]) to [..., n]; sum or average over coordinates only."
        )
    return losses


def squared_loss(prediction: Tensor, y: Tensor) -> Tensor:
    """`1/2 |prediction - y|^2`; invariant under every unitary representation.

    >>> squared_loss(torch.tensor([[1.0, 2.0]]), torch.tensor([[0.0, 0.0]]))
    tensor([2.5000])
    """
    return 0.5 * (prediction - y).square().sum(dim=-1)


def cross_entropy(prediction: Tensor, y: Tensor) -> Tensor:
    """`-sum_c y_c log softmax(prediction)_c`, y a distribution over classes (one-hot for labels).

    Invariant where the group permutes classes or leaves them alone.

    >>> cross_entropy(torch.zeros(1, 4), torch.tensor([[0.0, 1.0, 0.0, 0.0]]))
    tensor([1.3863])
    """
    return -(y * torch.log_softmax(prediction, dim=-1)).sum(dim=-1)


def binary_cross_entropy(prediction: Tensor, y: Tensor) -> Tensor:
    """The mean over coordinates of `-y log p - (1 - y) log(1 - p)`, p = sigmoid(prediction).

    Invariant where the group permutes coordinates.

    >>> binary_cross_entropy(torch.zeros(1, 2), torch.tensor([[0.0, 1.0]]))
    tensor([0.6931])
    """
    return (torch.nn.functional.softplus(prediction) - y * prediction).mean(dim=-1)
