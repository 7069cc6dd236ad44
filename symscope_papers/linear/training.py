"""What the linear experiments share: real training, recorded; starts; fits of a decay; one kind of figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from symscope.linear import asymmetry_loss

# Asymmetry below this fraction of the start is rounding: it is drawn, and left out of fits.
ROUNDING_FLOOR = 1e-11
# One minus R² of an exact exponential, down to that fraction, is below this.
STRAIGHT = 1e-9


def recorded_epochs(epochs: int, count: int) -> Tensor:
    """About `count` epochs from 0 to the last, evenly spaced.

    >>> recorded_epochs(10, 3).tolist()
    [0, 5, 10]
    """
    return torch.linspace(0, epochs, min(count, epochs + 1), dtype=torch.float64).round().long().unique()


def training_path(x: Tensor, y: Tensor, starts: Tensor, learning_rate: float, record: Tensor) -> Tensor:
    """Weights along full-batch gradient descent on the mean squared error, by `torch.optim.SGD`.

    Args:
        x: Features `[n, d]`.
        y: Labels `[n]` or `[n, m]`.
        starts: Initial weights `[runs, d]` or `[runs, d, m]`; the runs are independent.
        learning_rate: Learning rate for the mean squared error of each run.
        record: Epochs to keep, ascending.

    Returns:
        `[epochs kept, runs, d, *m]`.

    >>> x, y = torch.ones(2, 1), torch.ones(2)
    >>> training_path(x, y, torch.zeros(1, 1), 0.25, torch.tensor([0, 1, 2]))[:, 0, 0].tolist()
    [0.0, 0.5, 0.75]
    """
    weights = starts.clone().requires_grad_()
    optimiser = torch.optim.SGD([weights], lr=learning_rate)
    kept, wanted = [], set(record.tolist())
    for epoch in range(int(record[-1]) + 1):
        if epoch in wanted:
            kept.append(weights.detach().clone())
        optimiser.zero_grad()
        predictions = torch.einsum("nd,rd...->rn...", x, weights)
        (predictions - y).square().flatten(1).mean(1).sum().backward()
        optimiser.step()
    return torch.stack(kept)


def asymmetry_of(weights: Tensor, x: Tensor, features: Tensor, labels: Tensor | None = None) -> list[float]:
    """The asymmetry loss of linear models with given weights, `[runs, d, *m]`, on the inputs x.

    >>> swap = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    >>> asymmetry_of(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 3.0]]), swap)
    [1.0]
    """
    return [float(asymmetry_loss(partial(torch.matmul, other=w), x, features, labels)) for w in weights]


def decay_fit(times: Float[Tensor, " t"], sizes: Float[Tensor, " t"]) -> tuple[float, float, int]:
    """The rate of an exponential decay, from a straight line through the logarithms.

    Sizes under a fraction 1e-11 of the first are rounding and left out.

    Returns:
        The rate, the R^2 of the line, and how many records it goes through; NaN when fewer than three.

    >>> t = torch.linspace(0, 5, 6, dtype=torch.float64)
    >>> [round(value, 9) for value in decay_fit(t, 3 * torch.exp(-2 * t))]
    [2.0, 1.0, 6]
    """
    good = (sizes > ROUNDING_FLOOR * float(sizes[0])).long().cumprod(0).bool()
    t, logs = times[good].to(torch.float64), sizes[good].to(torch.float64).log()
    if len(t) < 3:
        return math.nan, math.nan, len(t)
    t0, l0 = t - t.mean(), logs - logs.mean()
    slope = float((t0 * l0).sum() / t0.square().sum())
    left = float((l0 - slope * t0).square().sum())
    total = float(l0.square().sum())
    return -slope, 1 - left / total if total > 0 else math.nan, len(t)


def run_spread(paths: pd.DataFrame, shared: str, parts: Sequence[str]) -> float:
    """The largest difference between two runs in parts of the weights, over all epochs.

    Args:
        paths: Table of paths with columns `shared`, `epoch` and the parts.
        shared: The runs that share this part of their start.
        parts: Columns to compare.
    """
    by_epoch = paths[paths["shared"] == shared].groupby("epoch")
    return max(float((by_epoch[part].max() - by_epoch[part].min()).max()) for part in parts)


def dress_asymmetry(axes: Any, title: str | None = None) -> None:
    """Axes of an asymmetry loss against epochs, the paper's way."""
    axes.set(yscale="log", xlabel="epoch (full-batch gradient descent)", ylabel="asymmetry loss")
    if title is not None:
        axes.set_title(title)
    axes.grid(True)
