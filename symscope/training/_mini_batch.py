"""The course of a training by mini-batches: copies of one network, each on the points it may see."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

import torch
from jaxtyping import Bool, Float, Float64, Int64, Shaped
from torch import Tensor, nn

from symscope.errors import InputError
from symscope.networks import Stack, batched_outputs, stack_networks
from symscope.numerics import Progress, check_count
from symscope.training._checkpoint import Checkpoint, content_sum, saved_state
from symscope.training._epoch_draws import draw, dropout_noise, one_of_each, shuffle
from symscope.training._optimiser import Optimiser
from symscope.training._recorded_step import ReplayedStep
from symscope.training._window_convolution import with_window_convolutions
from symscope.training.points import GeneratedPoints, StoredPoints


@final
@dataclass(frozen=True)
class MiniBatch:
    """How long, and how, to train networks on points they may see.

    Attributes:
        epochs: Number of passes over the points.
        batch: Number of points per step.
        optimiser: Optimiser that takes the steps; the paper's is Adam, 1e-3, betas (0.7, 0.9).
        mixed_precision: The network computes in bfloat16; weights, their steps and the loss stay in float32.
        compiled: Fuse each step with `torch.compile`; takes up to a minute before the first step. On a GPU
            with stored points each step is also recorded and replayed as one launch.
        augment: Show one point of each sample per epoch, drawn from those the copy may see, instead of all.
        measured_points: Largest number of points measured in each set, drawn once; None for all.
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
@dataclass(frozen=True)
class Objective:
    """What networks are trained for.

    Attributes:
        kind: Name of the objective in checkpoints.
        wanted: Name of the values to learn, for messages.
        loss: Each copy's mean loss over its real points, `loss(skeleton, weights, x, wanted, real)`.
        measure: Quantity measured at each point and averaged over sets, `measure(outputs, wanted)`.
        check: Refuses values that do not fit the network, `check(wanted, seen, output)`.
    """

    kind: str
    wanted: str
    loss: Callable[[nn.Module, dict[str, Tensor], Tensor, Tensor, Tensor], Tensor]
    measure: Callable[[Tensor, Tensor], Tensor]
    check: Callable[[Tensor, Tensor, torch.Size], None]


def train_by_mini_batches(
    objective: Objective,
    builder: Callable[[int], nn.Module],
    points: StoredPoints | GeneratedPoints,
    wanted: Shaped[Tensor, "wanted *c"],
    seen: Bool[Tensor, "copies n"],
    tests: Mapping[str, Bool[Tensor, "_ _"]],
    settings: MiniBatch,
    seeds: Sequence[int],
    device: torch.device | str | None,
    progress: Progress | None,
    checkpoint: Checkpoint | None,
) -> MiniBatchTraining:
    """Train one network per row of `seen`, all at once; arguments as in `train_classifiers`.

    Raises:
        InputError: The same cases as for `train_classifiers`.
    """
    where = points.device if device is None else torch.device(device)
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
    return training.finished()


def copies_outputs(
    skeleton: nn.Module, weights: dict[str, Tensor], x: Float[Tensor, "copies b *s"]
) -> Float[Tensor, "copies b *c"]:
    """The outputs of every copy, computed in the dtype of x and given in float32 at least."""
    outputs = batched_outputs(skeleton, {name: weight.to(x.dtype) for name, weight in weights.items()}, x)
    return outputs.to(torch.promote_types(outputs.dtype, torch.float32))


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


@final
class MiniBatchTraining:
    """The moving parts of a training: weights, optimiser, record."""

    def __init__(
        self,
        objective: Objective,
        stack: Stack,
        points: StoredPoints | GeneratedPoints,
        wanted: Tensor,
        seen: Tensor,
        sets: dict[str, Tensor],
        settings: MiniBatch,
        dtype: torch.dtype,
    ) -> None:
        self.stack, self.points, self.wanted, self.seen = stack, points, wanted, seen
        self.sets, self.settings, self.dtype, self.objective = sets, settings, dtype, objective
        self.compute = torch.bfloat16 if settings.mixed_precision else dtype
        fast = with_window_convolutions if seen.is_cuda else copy.deepcopy
        self.skeleton = fast(stack.skeleton).to(self.compute)  # for its constants
        self.optimiser = settings.optimiser.build(stack.weights.values())
        self.loss = torch.compile(objective.loss, dynamic=False) if settings.compiled else objective.loss
        self.total = torch.zeros(len(stack), dtype=torch.float64, device=seen.device)
        replayed = settings.compiled and seen.is_cuda and isinstance(points, StoredPoints)
        self.step = ReplayedStep(self._step, self.optimiser.zero_grad) if replayed else self._step
        self.epoch = 0
        self.losses: list[Tensor] = []
        self.measured_at: list[int] = []
        self.measured: dict[str, list[Tensor]] = {name: [] for name in sets}
        self.known = [own.nonzero()[:, 0] for own in seen]
        self._problem: dict[str, Any] | None = None

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
                    self.measured[name].append(self._measured(index))
            if checkpoint and (self.epoch % checkpoint.every == 0 or self.epoch == last):
                checkpoint.save(self.problem(), self.state())
            if progress:
                progress(f"training, loss {float(losses.mean()):.3g}", self.epoch, last)

    def _one_epoch(self) -> Float64[Tensor, "copies"]:
        seeds, settings = self.stack.seeds, self.settings
        own = one_of_each(self.seen, self.points.order, seeds, self.epoch) if settings.augment else self.known
        order = shuffle(own, settings.batch, seeds, self.epoch, filled=settings.compiled)
        self.total.zero_()
        self.skeleton.train()
        with warnings.catch_warnings():
            # single precision is what was asked for: the compiler need not recommend less
            warnings.filterwarnings("ignore", message="TensorFloat32 tensor cores")
            for index, real in order.steps():
                self.step(index, real)
        return self.total / len(order)

    def _step(self, index: Int64[Tensor, "copies b"], real: Bool[Tensor, "copies b"]) -> None:
        x, y = self.points.take(index).to(self.compute), self.wanted[index]
        losses = self.loss(self.skeleton, self.stack.weights, x, y, real)
        self.optimiser.zero_grad()
        losses.sum().backward()
        self.optimiser.step()
        self.total += losses.detach().double()

    def _measured(self, index: Int64[Tensor, "copies m"]) -> Float64[Tensor, "copies"]:
        """Rows are filled up with -1."""
        total = torch.zeros(len(index), dtype=torch.float64, device=index.device)
        step = max(1, 16384 // len(index))
        weights = {name: weight.detach().to(self.compute) for name, weight in self.stack.weights.items()}
        self.skeleton.eval()
        with torch.no_grad():
            for piece in index.split(step, dim=1):
                there = piece.clamp(min=0)
                outputs = batched_outputs(self.skeleton, weights, self.points.take(there).to(self.compute))
                total += (self.objective.measure(outputs, self.wanted[there]).double() * (piece >= 0)).sum(1)
        return total / (index >= 0).sum(1)

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
        """What is being trained, as plain data; asked for first before any step."""
        if self._problem is None:
            self._problem = {
                "kind": self.objective.kind,
                "architecture": repr(self.stack.skeleton),
                "seeds": list(self.stack.seeds),
                "settings": {**asdict(self.settings), "optimiser": repr(self.settings.optimiser)},
                "dtype": str(self.dtype),
                **self.points.problem(),
                "labels": content_sum(self.wanted),
                "seen": content_sum(self.seen),
                "tests": {name: content_sum(index) for name, index in self.sets.items()},
                "initial weights": [content_sum(weight) for weight in self.stack.weights.values()],
            }
        return self._problem

    def state(self) -> dict[str, Any]:
        return {
            "epoch": self.epoch,
            "weights": {name: weight.detach() for name, weight in self.stack.weights.items()},
            "optimiser": self.optimiser.state_dict(),
            "statistics": dict(self.skeleton.named_buffers()),
            "losses": self.losses,
            "measured_at": self.measured_at,
            "accuracies": self.measured,  # the name in files that are already there
        }

    def restore(self, state: dict[str, Any]) -> None:
        with torch.no_grad():
            for name, weight in self.stack.weights.items():
                weight.copy_(state["weights"][name])
            for name, buffer in self.skeleton.named_buffers():
                buffer.copy_(state.get("statistics", {}).get(name, buffer))
        self.optimiser.load_state_dict(state["optimiser"])
        self.epoch, self.losses = state["epoch"], state["losses"]
        self.measured_at, self.measured = state["measured_at"], state["accuracies"]

    def finished(self) -> MiniBatchTraining:
        """Itself, its weights free of gradients, running statistics where the weights are."""
        if self.stack.keeps_statistics:
            self.stack.skeleton.load_state_dict(dict(self.skeleton.named_buffers()), strict=False)
        for weight in self.stack.weights.values():
            weight.requires_grad_(False)
            weight.grad = None
        return self

    def record(
        self,
    ) -> tuple[Float64[Tensor, "epochs copies"], dict[str, Float64[Tensor, "measured copies"]]]:
        """Losses, and what was measured on each set."""
        result = {name: torch.stack(values).cpu() for name, values in self.measured.items()}
        return torch.stack(self.losses).cpu(), result


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
