"""Losses, one number per sample, by name and as functions: what `discovery` and `dynamics` differentiate.

Three compare a batch of outputs with targets of any one shape or with class numbers. Three are made for the
group acting on targets as on outputs: they compare vectors along the last axis, and leading axes broadcast.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from symscope.errors import InputError, nearest
from symscope.numerics import explained

__all__ = [
    "LOSSES",
    "Loss",
    "binary_cross_entropy_loss",
    "cross_entropy_loss",
    "half_squared_loss",
    "mean_squared_loss",
    "named_loss",
    "sample_losses",
    "soft_cross_entropy_loss",
    "squared_loss",
]

# (outputs, targets), one row per sample, to one number per sample
Loss = Callable[[Tensor, Tensor], Tensor]


@explained
def squared_loss(outputs: Float[Tensor, "b *o"], targets: Shaped[Tensor, "_b *t"]) -> Float[Tensor, "b"]:
    """`|f(x) - y|^2` of every sample.

    Raises:
        InputError: Targets of another shape than the outputs, axes of length 1 aside.

    >>> squared_loss(torch.tensor([[1.0, 2.0], [0.0, 0.0]]), torch.tensor([[1.0, 0.0], [3.0, 0.0]]))
    tensor([4., 9.])
    """
    return _differences(outputs, targets).square().sum(1)


@explained
def mean_squared_loss(outputs: Float[Tensor, "b *o"], targets: Shaped[Tensor, "_b *t"]) -> Float[Tensor, "b"]:
    """`mean (f(x) - y)^2` over the outputs of every sample.

    Raises:
        InputError: Targets of another shape than the outputs, axes of length 1 aside.
    """
    return _differences(outputs, targets).square().mean(1)


def _differences(outputs: Tensor, targets: Tensor) -> Tensor:
    """`f(x) - y` as rows; subtracting `[b]` from `[b, 1]` would compare every output with every target."""
    shapes = [[size for size in t.shape[1:] if size != 1] for t in (outputs, targets)]
    if min(outputs.ndim, targets.ndim) < 1 or len(outputs) != len(targets) or shapes[0] != shapes[1]:
        raise InputError(
            f"squared losses: expected targets of the outputs' shape {list(outputs.shape)}, got "
            f"{list(targets.shape)}; reshape them, or for class numbers use the loss cross-entropy."
        )
    return (outputs - targets.reshape(outputs.shape)).reshape(len(outputs), -1)  # outputs may be [b] alone


@explained
def cross_entropy_loss(outputs: Float[Tensor, "b c"], targets: Shaped[Tensor, "b"]) -> Float[Tensor, "b"]:
    """`log sum_j exp f_j(x) - f_y(x)` of every sample, y a class number."""
    if outputs.ndim != 2 or targets.shape != outputs.shape[:1]:
        raise InputError(
            f"cross-entropy: expected outputs [b, c] and class numbers [b], got {tuple(outputs.shape)} and "
            f"{tuple(targets.shape)}."
        )
    picked = outputs.gather(1, targets.long()[:, None])[:, 0]
    return torch.logsumexp(outputs, 1) - picked


def _check_alike(outputs: Tensor, targets: Tensor) -> None:
    """Only axes of runs may differ: those of one network's targets serve many."""
    numbers = outputs.is_floating_point() and targets.is_floating_point()
    alike = outputs.ndim > 1 and outputs.shape[-2:] == targets.shape[-2:] and _broadcast(outputs, targets)
    if not (numbers and alike):
        raise InputError(
            f"expected floating-point outputs [..., n, d] and targets of the same shape, got "
            f"{outputs.dtype} of shape {tuple(outputs.shape)} and {targets.dtype} of {tuple(targets.shape)}; "
            "for class numbers use the loss cross-entropy."
        )


def _broadcast(a: Tensor, b: Tensor) -> bool:
    pairs = zip(reversed(a.shape), reversed(b.shape), strict=False)
    return all(m == n or 1 in (m, n) for m, n in pairs)


@explained
def half_squared_loss(
    outputs: Float[Tensor, "*runs n d"], targets: Float[Tensor, "*same n d"]
) -> Float[Tensor, "*all n"]:
    """`1/2 |f(x) - y|^2` of every sample; invariant under every unitary representation.

    >>> half_squared_loss(torch.tensor([[1.0, 2.0]]), torch.tensor([[0.0, 0.0]]))
    tensor([2.5000])
    """
    _check_alike(outputs, targets)
    return 0.5 * (outputs - targets).square().sum(dim=-1)


@explained
def soft_cross_entropy_loss(
    outputs: Float[Tensor, "*runs n c"], targets: Float[Tensor, "*same n c"]
) -> Float[Tensor, "*all n"]:
    """`-sum_c y_c log softmax(f(x))_c` of every sample, y a distribution over classes (one-hot for labels).

    Invariant where the group permutes classes or leaves them alone.

    >>> soft_cross_entropy_loss(torch.zeros(1, 4), torch.tensor([[0.0, 1.0, 0.0, 0.0]]))
    tensor([1.3863])
    """
    _check_alike(outputs, targets)
    return -(targets * torch.log_softmax(outputs, dim=-1)).sum(dim=-1)


@explained
def binary_cross_entropy_loss(
    outputs: Float[Tensor, "*runs n d"], targets: Float[Tensor, "*same n d"]
) -> Float[Tensor, "*all n"]:
    """The mean over outputs of `-y log p - (1 - y) log(1 - p)`, p = sigmoid(f(x)), of every sample.

    Invariant where the group permutes outputs.

    >>> binary_cross_entropy_loss(torch.zeros(1, 2), torch.tensor([[0.0, 1.0]]))
    tensor([0.6931])
    """
    _check_alike(outputs, targets)
    return (torch.nn.functional.softplus(outputs) - targets * outputs).mean(dim=-1)


LOSSES: dict[str, Loss] = {
    "squared": squared_loss,
    "mse": mean_squared_loss,
    "cross-entropy": cross_entropy_loss,
    "half-squared": half_squared_loss,
    "soft-cross-entropy": soft_cross_entropy_loss,
    "binary-cross-entropy": binary_cross_entropy_loss,
}


@explained
def named_loss(name: str) -> Loss:
    """A loss by its name in `LOSSES`.

    Raises:
        InputError: An unknown name.

    >>> named_loss("mse") is mean_squared_loss
    True
    """
    if name not in LOSSES:
        raise InputError(f"unknown loss {name!r}; {nearest(name, LOSSES)}")
    return LOSSES[name]


@explained
def sample_losses(loss: Loss, outputs: Tensor, targets: Tensor) -> Tensor:
    """The loss of every sample, `[..., n]`, checked to be one number each.

    Args:
        loss: `(outputs [..., n, d], targets [..., n, d]) -> [..., n]`.
        outputs: Predictions `[..., n, d]`.
        targets: Targets; their leading axes broadcast with those of the outputs.

    Raises:
        InputError: A loss that gives anything else than one number per sample, such as a mean over them.

    >>> sample_losses(half_squared_loss, torch.ones(3, 2), torch.zeros(3, 2))
    tensor([1., 1., 1.])
    """
    losses = loss(outputs, targets)
    expected = tuple(outputs.shape[:-1])
    if tuple(losses.shape) != expected:
        raise InputError(
            f"expected one loss per sample, shape {expected}, got {tuple(losses.shape)}: a loss maps "
            "(outputs [..., n, d], targets [..., n, d]) to [..., n]; sum or average over outputs only."
        )
    return losses
