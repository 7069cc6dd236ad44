"""Networks that return numbers, trained together with squared loss, each on the points it may see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor, nn

from symscope.errors import InputError
from symscope.networks import Stack
from symscope.numerics import Progress, check_finite
from symscope.training._checkpoint import Checkpoint
from symscope.training._mini_batch import MiniBatch, Objective, copies_outputs, train_by_mini_batches
from symscope.training.points import GeneratedPoints, StoredPoints


@final
@dataclass(frozen=True, eq=False)
class TrainedRegressors:
    """Trained networks that return numbers, and their course.

    Attributes:
        stack: The copies.
        losses: Mean squared difference over each epoch.
        measured_at: Epochs (1 is after the first) at which errors were measured.
        errors: Mean squared difference of each copy over points and outputs, by name of the set.
    """

    stack: Stack
    losses: Float64[Tensor, "epochs copies"]
    measured_at: tuple[int, ...]
    errors: dict[str, Float64[Tensor, "measured copies"]]


def train_regressors(
    builder: Callable[[int], nn.Module],
    points: StoredPoints | GeneratedPoints,
    targets: Float[Tensor, "targets t"],
    seen: Bool[Tensor, "copies n"],
    tests: Mapping[str, Bool[Tensor, "_ _"]],
    settings: MiniBatch,
    seeds: Sequence[int],
    *,
    device: torch.device | str | None = None,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> TrainedRegressors:
    """Train one network per row of `seen` with squared loss, all at once.

    The loss is `mean (f(x) - y)^2` over points and outputs. Everything else is as in `train_classifiers`.

    Args:
        builder: Function of a seed that gives a network, with as many outputs as targets.
        points: Inputs of all copies.
        targets: The numbers each point should get; of the order of 1, or steps are too large or too small.
        seen: Mask of the points each copy is trained on.
        tests: Named sets on which errors are measured, each a mask like `seen`.
        settings: Length of the training, batches and optimiser.
        seeds: Seed of each copy, for its weights and the order of its points.
        device: Device to train on; the one holding the points, if not given.
        progress: Called as `progress(words with the mean loss, epoch, epochs)` after every epoch.
        checkpoint: File to keep the state in and to resume from.

    Raises:
        InputError: Masks or targets that do not fit, outputs that are not as many as targets, inputs the
            network does not take, a loss that is not finite (naming the copy), or a checkpoint that cannot be
            used.

    >>> from symscope.training import Optimiser
    >>> x = torch.tensor([[-2.0], [-1.0], [1.0], [2.0]], dtype=torch.float64)
    >>> seen = torch.tensor([[True, False, True, True]])
    >>> settings = MiniBatch(300, 3, Optimiser("adam", 0.1))
    >>> line = lambda seed: nn.Linear(1, 1)
    >>> result = train_regressors(line, StoredPoints(x), 3 * x, seen, {"unseen": ~seen}, settings, seeds=[0])
    >>> bool(result.errors["unseen"][-1] < 1e-6)
    True
    """
    check_finite("targets", targets)
    trained = train_by_mini_batches(
        NUMBERS, builder, points, targets, seen, tests, settings, seeds, device, progress, checkpoint
    )
    losses, errors = trained.record()
    return TrainedRegressors(trained.stack, losses, tuple(trained.measured_at), errors)


def check_outputs(targets: Float[Tensor, "n t"], seen: Bool[Tensor, "copies n"], output: torch.Size) -> None:
    """Refuses networks whose outputs are not as many as the targets of a point."""
    if tuple(output) != tuple(targets.shape[1:]):
        raise InputError(
            f"expected a network with {targets.shape[1]} outputs, one for each target, got outputs "
            f"{tuple(output)}."
        )


def weighted_squares(
    skeleton: nn.Module,
    weights: dict[str, Tensor],
    x: Float[Tensor, "copies b *s"],
    y: Float[Tensor, "copies b t"],
    real: Bool[Tensor, "copies b"],
) -> Float[Tensor, "copies"]:
    """Each copy's mean squared difference over its real points, the network computing in the dtype of x."""
    outputs = copies_outputs(skeleton, weights, x)
    squares = (outputs - y.to(outputs.dtype)).square().mean(-1)
    return (squares * real).sum(1) / real.sum(1)


def _squares(outputs: Float[Tensor, "copies b t"], y: Float[Tensor, "copies b t"]) -> Tensor:
    return (outputs.double() - y.double()).square().mean(-1)


NUMBERS = Objective("regressors", "targets", weighted_squares, _squares, check_outputs)
