"""Classifiers of one architecture trained together on one pool of points, each on the points it may see.

The copies share the points in memory; each has its own points, order and weights. On a GPU this pays where
one copy cannot fill it (the MLP: a step of 2,048 images is a few microseconds of arithmetic and many times
that of launching it); where one copy fills it (ConvNet, ViT) train one at a time, by giving one seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Float64, Int64, Shaped
from torch import Tensor, nn

from symscope.errors import InputError
from symscope.networks import Stack
from symscope.numerics import Progress
from symscope.training._checkpoint import Checkpoint
from symscope.training._mini_batch import MiniBatch, Objective, copies_outputs, train_by_mini_batches
from symscope.training.points import GeneratedPoints, StoredPoints


@final
@dataclass(frozen=True, eq=False)
class TrainedClassifiers:
    """Trained classifiers, and their course.

    Attributes:
        stack: The copies.
        losses: Mean cross-entropy over each epoch.
        measured_at: Epochs (1 is after the first) at which accuracy was measured.
        accuracies: Share of points each copy classifies correctly, by name of the set.
    """

    stack: Stack
    losses: Float64[Tensor, "epochs copies"]
    measured_at: tuple[int, ...]
    accuracies: dict[str, Float64[Tensor, "measured copies"]]


def train_classifiers(
    builder: Callable[[int], nn.Module],
    points: StoredPoints | GeneratedPoints,
    labels: Int64[Tensor, "labels"],
    seen: Bool[Tensor, "copies n"],
    tests: Mapping[str, Bool[Tensor, "_ _"]],
    settings: MiniBatch,
    seeds: Sequence[int],
    *,
    device: torch.device | str | None = None,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> TrainedClassifiers:
    """Train one classifier per row of `seen` with cross-entropy, all at once.

    Copy i starts as `builder(seeds[i])` and is shown the points of `seen[i]` alone. With the same number of
    steps per epoch and without dropout (whose noise is drawn for all together), copies trained together and
    one by one are the same to rounding. Resumed runs are the same as uninterrupted ones: bit for bit on a
    CPU; on a GPU as far as its own convolutions repeat themselves.

    Args:
        builder: Function of a seed that gives a network of one architecture, with logits as outputs.
        points: Inputs of all copies.
        labels: The class of each point, from 0 on.
        seen: Mask of the points each copy is trained on.
        tests: Named sets on which accuracy is measured, each a mask like `seen`.
        settings: Length of the training, batches and optimiser.
        seeds: Seed of each copy, for its weights and the order of its points.
        device: Device to train on; the one holding the points, if not given.
        progress: Called as `progress(words with the mean loss, epoch, epochs)` after every epoch.
        checkpoint: File to keep the state in and to resume from.

    Raises:
        InputError: Masks or labels that do not fit, a class without points to learn from, inputs the network
            does not take, a loss that is not finite (naming the copy), or a checkpoint that cannot be used.

    >>> x = torch.tensor([[-2.0], [-1.0], [1.0], [2.0]], dtype=torch.float64)
    >>> seen = torch.tensor([[True, False, True, True]])
    >>> from symscope.training import Optimiser
    >>> settings = MiniBatch(200, 2, Optimiser("adam", 0.1))
    >>> line = lambda seed: nn.Linear(1, 2)
    >>> y = torch.tensor([0, 0, 1, 1])
    >>> result = train_classifiers(line, StoredPoints(x), y, seen, {"unseen": ~seen}, settings, seeds=[0])
    >>> result.accuracies["unseen"][-1].tolist()
    [1.0]
    """
    trained = train_by_mini_batches(
        CLASSES, builder, points, labels, seen, tests, settings, seeds, device, progress, checkpoint
    )
    losses, accuracies = trained.record()
    return TrainedClassifiers(trained.stack, losses, tuple(trained.measured_at), accuracies)


def check_classes(labels: Shaped[Tensor, "n *c"], seen: Bool[Tensor, "copies n"], output: torch.Size) -> None:
    """Refuses labels outside the network's outputs, and classes that a copy never sees."""
    if len(output) != 1:
        raise InputError(
            f"expected a network with one axis of logits per point, got outputs {tuple(output)}."
        )
    if labels.ndim != 1 or labels.dtype.is_floating_point or labels.dtype.is_complex:
        raise InputError(
            f"labels: expected whole numbers, one class per point, got {labels.dtype} of shape "
            f"{tuple(labels.shape)}."
        )
    low, high = int(labels.min()), int(labels.max())
    if low < 0 or high >= output[0]:
        raise InputError(
            f"labels: expected classes 0 .. {output[0] - 1}, as the network has outputs, got {low} .. {high}."
        )
    for i, own in enumerate(seen):
        missing = (torch.bincount(labels, minlength=output[0]) > 0) & (
            torch.bincount(labels[own], minlength=output[0]) == 0
        )
        if bool(missing.any()):
            label = int(missing.nonzero()[0])
            raise InputError(
                f"copy {i}: class {label} has points but none of them is seen in training, so it cannot "
                "be learned; leave fewer points out, or drop the class."
            )


def weighted_loss(
    skeleton: nn.Module,
    weights: dict[str, Tensor],
    x: Float[Tensor, "copies b *s"],
    y: Int64[Tensor, "copies b"],
    real: Bool[Tensor, "copies b"],
) -> Float[Tensor, "copies"]:
    """Each copy's mean cross-entropy over its real points, the network computing in the dtype of x."""
    logits = copies_outputs(skeleton, weights, x).flatten(0, 1)
    losses = nn.functional.cross_entropy(logits, y.flatten(), reduction="none")
    return (losses.reshape(real.shape) * real).sum(1) / real.sum(1)


def _right(logits: Float[Tensor, "copies b c"], y: Int64[Tensor, "copies b"]) -> Bool[Tensor, "copies b"]:
    return logits.argmax(-1) == y


CLASSES = Objective("classifiers", "labels", weighted_loss, _right, check_classes)
