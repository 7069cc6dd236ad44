"""Networks of one architecture trained together on one pool of points, each on the points it may see.

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
from symscope.networks import Stack, stack_networks
from symscope.numerics import Progress, check_finite, explained, may_be_infinite, usable_device
from symscope.training._checkpoint import Checkpoint, saved_state
from symscope.training._epoch_draws import draw, dropout_noise
from symscope.training._mini_batch import MiniBatch, MiniBatchTraining, Objective
from symscope.training.points import GeneratedPoints, StoredPoints


@final
@dataclass(frozen=True, eq=False)
class TrainedNetworks:
    """Trained networks, and their course.

    Attributes:
        stack: The copies.
        losses: Mean loss over each epoch: cross-entropy, or squared difference.
        measured_at: Epochs (1 is after the first) at which the sets were measured.
        measured: By name of the set, the share of points each copy classifies correctly, or its mean squared
            difference over points and outputs.
    """

    stack: Stack
    losses: Float64[Tensor, "epochs copies"]
    measured_at: tuple[int, ...]
    measured: dict[str, Float64[Tensor, "measured copies"]]


@may_be_infinite
@explained
def train_networks(
    builder: Callable[[int], nn.Module],
    points: StoredPoints | GeneratedPoints,
    wanted: Shaped[Tensor, "wanted *c"],
    seen: Bool[Tensor, "copies n"],
    tests: Mapping[str, Bool[Tensor, "_ _"]],
    settings: MiniBatch,
    seeds: Sequence[int],
    *,
    device: torch.device | str | None = None,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> TrainedNetworks:
    """Train one network per row of `seen`, all at once: classes by cross-entropy, numbers by squared loss.

    Copy i starts as `builder(seeds[i])` and is shown the points of `seen[i]` alone. With the same number of
    steps per epoch and without dropout (whose noise is drawn for all together), copies trained together and
    one by one are the same to rounding. Resumed runs are the same as uninterrupted ones: bit for bit on a
    CPU; on a GPU as far as its own convolutions repeat themselves.

    Args:
        builder: Function of a seed that gives a network of one architecture, with logits as outputs, or as
            many outputs as targets.
        points: Inputs of all copies.
        wanted: The class of each point, from 0 on, as whole numbers `[n]`; or the numbers each point should
            get, `[n, t]`, of the order of 1, or steps are too large or too small.
        seen: Mask of the points each copy is trained on.
        tests: Named sets that are measured, each a mask like `seen`.
        settings: Length of the training, batches and optimiser.
        seeds: Seed of each copy, for its weights and the order of its points.
        device: Device to train on; the one holding the points, if not given.
        progress: Called as `progress(words with the mean loss, epoch, epochs)` after every epoch.
        checkpoint: File to keep the state in and to resume from.

    Raises:
        InputError: Masks, labels or targets that do not fit, a class without points to learn from, inputs the
            network does not take, a loss that is not finite (naming the copy), or a checkpoint that cannot be
            used.

    >>> from symscope.training import Optimiser
    >>> x = torch.tensor([[-2.0], [-1.0], [1.0], [2.0]], dtype=torch.float64)
    >>> seen = torch.tensor([[True, False, True, True]])
    >>> settings, y = MiniBatch(200, 2, Optimiser("adam", 0.1)), torch.tensor([0, 0, 1, 1])
    >>> line = lambda seed: nn.Linear(1, 2)
    >>> result = train_networks(line, StoredPoints(x), y, seen, {"unseen": ~seen}, settings, seeds=[0])
    >>> result.measured["unseen"][-1].tolist()
    [1.0]
    """
    objective = NUMBERS if wanted.is_floating_point() else CLASSES
    where = usable_device(device, seen) if device is not None else points.device
    check_sets(objective.wanted, wanted, seen, tests, len(points), len(seeds))
    points, wanted, seen = points.to(where), wanted.to(where), seen.to(where)
    probe = points.take(torch.zeros(1, dtype=torch.int64, device=where))
    dtype = probe.dtype if probe.dtype in (torch.float32, torch.float64) else torch.float32
    check_precision(settings, dtype)
    stack = stack_networks(builder, seeds, dtype, where)
    check_statistics(settings, stack)
    objective.check(wanted, seen, stack.output_shape(probe.to(dtype)))
    sets = {name: _positions(mask.to(where), settings, stack.seeds) for name, mask in tests.items()}
    training = MiniBatchTraining(objective, stack, points, wanted, seen, sets, settings, dtype)
    state = saved_state(checkpoint, training.problem, where)
    if state is not None:
        training.restore(state)
    with dropout_noise(where) as start_noise:
        training.run(start_noise, progress, checkpoint)
    training.release()
    measured = {name: torch.stack(values).cpu() for name, values in training.measured.items()}
    return TrainedNetworks(stack, torch.stack(training.losses).cpu(), tuple(training.measured_at), measured)


def _positions(
    mask: Bool[Tensor, "copies n"], settings: MiniBatch, seeds: tuple[int, ...]
) -> Int64[Tensor, "copies m"]:
    """The positions of each row's points, at most so many, filled up with -1."""
    rows = []
    for own, seed in zip(mask, seeds, strict=True):
        there = own.nonzero()[:, 0]
        limit = settings.measured_points
        if limit is not None and len(there) > limit:
            chosen = torch.randperm(len(there), generator=draw(seed, 0, there.device, 2), device=there.device)
            there = there[chosen[:limit].sort().values]
        rows.append(there)
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-1)


def check_sets(
    name: str,
    wanted: Shaped[Tensor, "wanted *c"],
    seen: Bool[Tensor, "copies n"],
    tests: Mapping[str, Bool[Tensor, "_ _"]],
    count: int,
    seeds: int,
) -> None:
    """Refuses values and masks of the wrong shape, and sets without a point."""
    if len(wanted) != count:
        raise InputError(f"{name}: expected one per point, {count}, got {len(wanted)}.")
    for name, mask in {"seen": seen, **tests}.items():
        if mask.shape != (seeds, count):
            raise InputError(
                f"{name}: expected a mask [copies, points] = ({seeds}, {count}), got {tuple(mask.shape)}."
            )
        empty = (~mask.any(1)).nonzero()[:, 0]
        if len(empty):
            raise InputError(
                f"{name}: expected at least one point for each copy; copy {int(empty[0])} has none."
            )


def check_precision(settings: MiniBatch, dtype: torch.dtype) -> None:
    """Refuses to round float64 to bfloat16: who keeps the one does not want the other."""
    if settings.mixed_precision and dtype == torch.float64:
        raise InputError(
            "mixed_precision: expected points in float32 or bfloat16, got float64; convert them."
        )


def check_statistics(settings: MiniBatch, stack: Stack) -> None:
    """Refuses batch norm where steps are rounded, recorded or filled up: its statistics would be others."""
    if stack.keeps_statistics and (settings.mixed_precision or settings.compiled):
        raise InputError(
            "a network that keeps running statistics (batch norm) is trained in plain steps only; leave out "
            "mixed_precision and compiled."
        )


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


def check_targets(y: Shaped[Tensor, "n *t"], seen: Bool[Tensor, "copies n"], output: torch.Size) -> None:
    """Refuses numbers that are not finite, and networks whose outputs are not as many as they."""
    check_finite("targets", y)
    if y.ndim != 2:
        raise InputError(
            f"expected whole numbers, one class per point, or targets [points, outputs], got {y.dtype} "
            f"of shape {tuple(y.shape)}."
        )
    if tuple(output) != tuple(y.shape[1:]):
        raise InputError(
            f"expected a network with {y.shape[1]} outputs, one for each target, got outputs {tuple(output)}."
        )


def _cross_entropies(outputs: Float[Tensor, "copies b c"], y: Int64[Tensor, "copies b"]) -> Tensor:
    losses = nn.functional.cross_entropy(outputs.flatten(0, 1), y.flatten(), reduction="none")
    return losses.reshape(y.shape)


def _correct(outputs: Float[Tensor, "copies b c"], y: Int64[Tensor, "copies b"]) -> Tensor:
    return outputs.argmax(-1) == y


def _squares(outputs: Float[Tensor, "copies b t"], y: Float[Tensor, "copies b t"]) -> Tensor:
    return (outputs - y.to(outputs.dtype)).square().mean(-1)


def _squares_in_double(outputs: Float[Tensor, "copies b t"], y: Float[Tensor, "copies b t"]) -> Tensor:
    return _squares(outputs.double(), y)


CLASSES = Objective("classifiers", "labels", _cross_entropies, _correct, check_classes)
NUMBERS = Objective("regressors", "targets", _squares, _squares_in_double, check_targets)
