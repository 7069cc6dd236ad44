"""Classifiers of one architecture trained together on one pool of points, each on the points it may see.

The copies share the points in memory; each has its own points, order and weights. On a GPU this pays where
one copy cannot fill it (the MLP: a step of 2,048 images is a few microseconds of arithmetic and many times
that of launching it); where one copy fills it (ConvNet, ViT) train one at a time, by giving one seed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor, nn

from symscope.data.randomness import check_count
from symscope.errors import InputError
from symscope.training.checkpoint import Checkpoint, content_sum, kept_state
from symscope.training.optimiser import Optimiser
from symscope.training.points import Acted, Stored
from symscope.training.shuffles import draw, one_of_each, shuffle
from symscope.training.stack import Builder, Stack, batched_outputs, check_fits, in_mode, noise, stacked
from symscope.training.steps import ReplayedStep
from symscope.training.windows import by_windows

Progress = Callable[[int, int, float], object]


@final
@dataclass(frozen=True)
class MiniBatch:
    """How long, and how, to train a classifier.

    Attributes:
        epochs: Passes over the points.
        batch: Points per step.
        optimiser: What takes the steps; the paper's is Adam, 1e-3, betas (0.7, 0.9).
        mixed_precision: The network computes in bfloat16; weights, their steps and the loss stay in float32.
        compiled: Fuse each step with `torch.compile`; takes up to a minute before the first step. On a GPU
            with stored points each step is also recorded and replayed as one launch.
        augment: One point of each seed per epoch, drawn from those the copy may see, instead of all of them.
        measured_points: At most so many points of each set measure accuracy, drawn once; None for all.
        measured_every: Epochs between two measurements; the last epoch is always measured.

    Raises:
        InputError: A number below 1.
    """

    epochs: int
    batch: int
    optimiser: Optimiser
    mixed_precision: bool = False
    compiled: bool = False
    augment: bool = False
    measured_points: int | None = None
    measured_every: int = 1

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "measured_every"):
            check_count(name, getattr(self, name))
        if self.measured_points is not None:
            check_count("measured_points", self.measured_points)


@final
@dataclass(frozen=True, eq=False)
class TrainedClassifiers:
    """Trained classifiers, and their course.

    Attributes:
        stack: The copies.
        losses: Mean cross-entropy over each epoch.
        measured_at: The epochs (1 is after the first) at which accuracy was measured.
        accuracies: For each named set, the share of points each copy got right there.
    """

    stack: Stack
    losses: Float64[Tensor, "epochs copies"]
    measured_at: tuple[int, ...]
    accuracies: dict[str, Float64[Tensor, "measured copies"]]


def train_classifiers(
    builder: Builder,
    points: Stored | Acted,
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
        builder: A network for a seed, one architecture, logits out.
        points: The inputs.
        labels: The class of each point, from 0 on.
        seen: Which points each copy is trained on.
        tests: Named sets on which accuracy is measured, each a mask like `seen`.
        settings: How to train.
        seeds: One per copy, for weights and order.
        device: Where to train; where the points are, if not given.
        progress: Called as `progress(epoch, epochs, mean loss)` after every epoch.
        checkpoint: Keep the state in a file and go on from it.

    Raises:
        InputError: Masks or labels that do not fit, a class without points to learn from, inputs the network
            does not take, a loss that is not finite (naming the copy), or a checkpoint that cannot be used.

    >>> x = torch.tensor([[-2.0], [-1.0], [1.0], [2.0]], dtype=torch.float64)
    >>> seen = torch.tensor([[True, False, True, True]])
    >>> settings = MiniBatch(200, 2, Optimiser("adam", 0.1))
    >>> line = lambda seed: nn.Linear(1, 2)
    >>> y = torch.tensor([0, 0, 1, 1])
    >>> result = train_classifiers(line, Stored(x), y, seen, {"unseen": ~seen}, settings, seeds=[0])
    >>> result.accuracies["unseen"][-1].tolist()
    [1.0]
    """
    where = points.device if device is None else torch.device(device)
    check_sets(labels, seen, tests, len(points), len(seeds))
    points, labels, seen = points.to(where), labels.to(where), seen.to(where)
    probe = points.take(torch.zeros(1, dtype=torch.int64, device=where))
    dtype = probe.dtype if probe.dtype in (torch.float32, torch.float64) else torch.float32
    check_precision(settings, dtype)
    stack = stacked(builder, seeds, dtype, where)
    check_classes(labels, seen, check_fits(stack, probe.to(dtype)))
    sets = {name: _positions(mask.to(where), settings, stack.seeds) for name, mask in tests.items()}
    training = _Training(stack, points, labels, seen, sets, settings, dtype)
    state = kept_state(checkpoint, training.problem, where)
    if state is not None:
        training.restore(state)
    with noise(where) as start_noise:
        training.run(start_noise, progress, checkpoint)
    return training.result()


def check_sets(
    labels: Int64[Tensor, "labels"],
    seen: Bool[Tensor, "copies n"],
    tests: Mapping[str, Bool[Tensor, "_ _"]],
    count: int,
    seeds: int,
) -> None:
    """Refuses labels and masks of the wrong shape, and sets without a point."""
    if len(labels) != count:
        raise InputError(f"labels: expected one per point, {count}, got {len(labels)}.")
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


def check_classes(labels: Int64[Tensor, "n"], seen: Bool[Tensor, "copies n"], output: torch.Size) -> None:
    """Refuses labels outside the network's outputs, and classes that a copy never sees."""
    if len(output) != 1:
        raise InputError(
            f"expected a network with one axis of logits per point, got outputs {tuple(output)}."
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
    logits = batched_outputs(skeleton, {name: weight.to(x.dtype) for name, weight in weights.items()}, x)
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32)).flatten(0, 1)
    losses = nn.functional.cross_entropy(logits, y.flatten(), reduction="none")
    return (losses.reshape(real.shape) * real).sum(1) / real.sum(1)


@final
class _Training:
    """The moving parts: weights, optimiser, record."""

    def __init__(
        self,
        stack: Stack,
        points: Stored | Acted,
        labels: Tensor,
        seen: Tensor,
        sets: dict[str, Tensor],
        settings: MiniBatch,
        dtype: torch.dtype,
    ) -> None:
        self.stack, self.points, self.labels, self.seen = stack, points, labels, seen
        self.sets, self.settings, self.dtype = sets, settings, dtype
        self.compute = torch.bfloat16 if settings.mixed_precision else dtype
        fast = by_windows if labels.is_cuda else copy.deepcopy
        self.skeleton = fast(stack.skeleton).to(self.compute)  # for its constants
        self.optimiser = settings.optimiser.build(stack.weights.values())
        self.loss = torch.compile(weighted_loss, dynamic=False) if settings.compiled else weighted_loss
        self.total = torch.zeros(len(stack), dtype=torch.float64, device=labels.device)
        replayed = settings.compiled and labels.is_cuda and isinstance(points, Stored)
        self.step = ReplayedStep(self._step, self.optimiser.zero_grad) if replayed else self._step
        self.epoch = 0
        self.losses: list[Tensor] = []
        self.measured_at: list[int] = []
        self.accuracies: dict[str, list[Tensor]] = {name: [] for name in sets}
        self.known = [own.nonzero()[:, 0] for own in seen]

    def run(
        self,
        start_noise: Callable[[int, int], None],
        progress: Progress | None,
        checkpoint: Checkpoint | None,
    ) -> None:
        last = self.settings.epochs
        while self.epoch < last:
            start_noise(self.stack.seeds[0], self.epoch)
            losses = self._one_epoch()
            self.epoch += 1
            self._check(losses)
            self.losses.append(losses)
            if self.epoch % self.settings.measured_every == 0 or self.epoch == last:
                self.measured_at.append(self.epoch)
                for name, index in self.sets.items():
                    self.accuracies[name].append(self._accuracy(index))
            if checkpoint and (self.epoch % checkpoint.every == 0 or self.epoch == last):
                checkpoint.save(self.problem(), self.state())
            if progress:
                progress(self.epoch, last, float(losses.mean()))

    def _one_epoch(self) -> Float64[Tensor, "copies"]:
        seeds, settings = self.stack.seeds, self.settings
        own = one_of_each(self.seen, self.points.order, seeds, self.epoch) if settings.augment else self.known
        order = shuffle(own, settings.batch, seeds, self.epoch, filled=settings.compiled)
        self.total.zero_()
        with in_mode(self.skeleton, training=True):
            for index, real in order.steps():
                self.step(index, real)
        return self.total / len(order)

    def _step(self, index: Int64[Tensor, "copies b"], real: Bool[Tensor, "copies b"]) -> None:
        x, y = self.points.take(index).to(self.compute), self.labels[index]
        losses = self.loss(self.skeleton, self.stack.weights, x, y, real)
        self.optimiser.zero_grad()
        losses.sum().backward()
        self.optimiser.step()
        self.total += losses.detach().double()

    def _accuracy(self, index: Int64[Tensor, "copies m"]) -> Float64[Tensor, "copies"]:
        """Rows are filled up with -1."""
        right = torch.zeros(len(index), dtype=torch.int64, device=index.device)
        step = max(1, 16384 // len(index))
        weights = {name: weight.detach().to(self.compute) for name, weight in self.stack.weights.items()}
        with torch.no_grad(), in_mode(self.skeleton, training=False):
            for piece in index.split(step, dim=1):
                there = piece.clamp(min=0)
                logits = batched_outputs(self.skeleton, weights, self.points.take(there).to(self.compute))
                right += ((logits.argmax(-1) == self.labels[there]) & (piece >= 0)).sum(1)
        return right.double() / (index >= 0).sum(1)

    def _check(self, losses: Float64[Tensor, "copies"]) -> None:
        bad = (~torch.isfinite(losses)).nonzero()[:, 0]
        if len(bad):
            first = int(bad[0])
            raise InputError(
                f"copy {first} (seed {self.stack.seeds[first]}): the loss is {float(losses[first])} in epoch "
                f"{self.epoch}; lower the learning rate ({self.settings.optimiser.learning_rate}) or look at "
                "the scale of the inputs."
            )

    def problem(self) -> dict[str, Any]:
        return {
            "kind": "classifiers",
            "architecture": repr(self.stack.skeleton),
            "seeds": list(self.stack.seeds),
            "settings": {**asdict(self.settings), "optimiser": repr(self.settings.optimiser)},
            "dtype": str(self.dtype),
            **self.points.problem(),
            "labels": content_sum(self.labels),
            "seen": content_sum(self.seen),
            "tests": {name: content_sum(index) for name, index in self.sets.items()},
        }

    def state(self) -> dict[str, Any]:
        return {
            "epoch": self.epoch,
            "weights": {name: weight.detach() for name, weight in self.stack.weights.items()},
            "optimiser": self.optimiser.state_dict(),
            "losses": self.losses,
            "measured_at": self.measured_at,
            "accuracies": self.accuracies,
        }

    def restore(self, state: dict[str, Any]) -> None:
        with torch.no_grad():
            for name, weight in self.stack.weights.items():
                weight.copy_(state["weights"][name])
        self.optimiser.load_state_dict(state["optimiser"])
        self.epoch, self.losses = state["epoch"], state["losses"]
        self.measured_at, self.accuracies = state["measured_at"], state["accuracies"]

    def result(self) -> TrainedClassifiers:
        for weight in self.stack.weights.values():
            weight.requires_grad_(False)
            weight.grad = None
        return TrainedClassifiers(
            self.stack,
            torch.stack(self.losses).cpu(),
            tuple(self.measured_at),
            {name: torch.stack(values).cpu() for name, values in self.accuracies.items()},
        )


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
