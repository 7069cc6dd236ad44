"""Kernel logistic regression: a linearised network trained with cross-entropy, from any start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from symscope.errors import InputError
from symscope.numerics import check_count, explained

MOMENTUM = 0.9


@final
@dataclass(frozen=True, eq=False)
class LogisticFit:
    """Outputs after training.

    Attributes:
        outputs: Logits at the points that were not seen.
        loss: Mean cross-entropy over the seen points at the end.
        steps: Number of steps taken.
    """

    outputs: Float[Tensor, "m c"]
    loss: float
    steps: int


@explained
def kernel_logistic_regression(
    gram: Float[Tensor, "p p"],
    one_hot: Float[Tensor, "p c"],
    seen: Bool[Tensor, "p"],
    start: Float[Tensor, "p c"] | None = None,
    *,
    steps: int,
    tolerance: float,
) -> LogisticFit:
    """Cross-entropy lowered by gradient descent in the space of a kernel.

    `f = f_0 + K_.T a`, `a <- a - rate (softmax(f_T) - y_T)` with Nesterov's momentum; this is a network
    linearised at the weights whose tangent kernel is K and whose outputs are f_0. The rate is twice one over
    the largest row sum of |K|, below which descent cannot diverge. It stops at the tolerance or after so many
    steps: without a ridge there is no finite optimum.

    Args:
        gram: Kernel K over all points.
        one_hot: Classes of all points; those of unseen points are not looked at.
        seen: Which points are trained on.
        start: Outputs f_0 to start from; zero if None.
        steps: Largest number of steps.
        tolerance: Mean cross-entropy at which it is done.

    Raises:
        InputError: No seen or no unseen point, or a number of steps below 1.

    >>> K = torch.tensor([[1.0, 0.0, 0.9], [0.0, 1.0, 0.1], [0.9, 0.1, 1.0]], dtype=torch.float64)
    >>> y = torch.eye(2, dtype=torch.float64)[[0, 1, 0]]
    >>> seen = torch.tensor([True, True, False])
    >>> kernel_logistic_regression(K, y, seen, steps=50, tolerance=0.01).outputs.argmax(1).tolist()
    [0]
    """
    check_count("steps", steps)
    if not bool(seen.any()) or bool(seen.all()):
        raise InputError("seen: expected some points to train on and some not to, got all or none.")
    inner, labels = gram[seen][:, seen], one_hot[seen]
    base = torch.zeros_like(one_hot) if start is None else start
    rate = 2.0 / float(inner.abs().sum(1).max())
    weights = torch.zeros_like(labels)
    remaining, f, done = weights, base[seen], 0
    loss = _cross_entropy(f, labels)
    while loss > tolerance and done < steps:
        fresh = remaining - rate * (torch.softmax(f, 1) - labels)
        remaining = fresh + MOMENTUM * (fresh - weights)
        weights = fresh
        f = base[seen] + inner @ remaining
        done += 1
        if done % 10 == 0 or done == steps:  # reading a number waits for a GPU
            loss = _cross_entropy(base[seen] + inner @ weights, labels)
    return LogisticFit(base[~seen] + gram[~seen][:, seen] @ weights, loss, done)


def _cross_entropy(f: Float[Tensor, "n c"], labels: Float[Tensor, "n c"]) -> float:
    return float(-(torch.log_softmax(f, 1) * labels).sum(1).mean())
